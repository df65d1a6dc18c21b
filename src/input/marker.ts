import { BEYOND } from './line-ends.js';

/**
 * Length of the marker if it stands at `at`, else 0; BEYOND when the text ends within it. An empty
 * marker stands nowhere.
 */
export function markerAt(text: Buffer, at: number, marker: Buffer, last: boolean): number {
  const { length } = marker;
  for (let i = 0; i < length; i++) {
    if (at + i === text.length) return last ? 0 : BEYOND;
    if (text[at + i] !== marker[i]) return 0;
  }
  return length;
}

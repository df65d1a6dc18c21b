import { stringOf } from './raw-json.js';

/** Whether the string takes more than `most` bytes of UTF-8; cheap for the short ones. */
export const exceedsBytes = (text: string, most: number): boolean =>
  text.length > most || (text.length * 3 > most && Buffer.byteLength(text) > most);

/** The same for a string or number given as JSON text. */
export function scalarBytesExceed(json: string, most: number): boolean {
  return json.length * 3 > most && exceedsBytes(stringOf(json) ?? json, most);
}

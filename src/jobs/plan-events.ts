import { formatDay, type Day } from '../contract/dates.js';
import { daysOf, type DateRange } from './date-range.js';
import type { SliceOfFile } from './export-documents.js';

interface EventPlan {
  readonly event: readonly string[];
  readonly split: boolean;
}

/** A slice per event and day, in this order; with `--no-split` one per event. */
export function planEvents(
  range: DateRange,
  { event, split }: EventPlan,
  output: string | undefined,
): SliceOfFile[] {
  const ranges = split ? daysOf(range).map((day) => ({ from: day, to: day })) : [range];
  return event.flatMap((eventName) =>
    ranges.map(({ from, to }) => ({ eventName, from, to, file: fileOf(output, eventName, from) })),
  );
}

function fileOf(output: string | undefined, eventName: string, day: Day): string | undefined {
  return output
    ?.replaceAll('{day}', formatDay(day))
    .replaceAll('{event}', () => fileNamePart(eventName));
}

/** Names that differ stay different, and none of them leads out of the folder. */
const fileNamePart = (name: string): string =>
  name.replaceAll(/[/\\:*?"<>|%]|\p{C}|^\.|[. ]$/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );

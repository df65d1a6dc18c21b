import type { Position } from './cursors.js';

/** The records of an export in their fixed order. */
export interface PageSource {
  /** Positions of at most two records: the one `skip` records after `from`'s successor, and the next. */
  positionsAfter(from: Position, skip: number): Position[];
  /** At most `most` records after the position, as JSON texts joined by commas. */
  recordsAfter(from: Position, most: number): Buffer;
}

export interface Page {
  readonly isEmpty: boolean;
  /** Chunks of records joined by commas; read from the store while they are consumed. */
  readonly records: Iterable<Buffer>;
  /** Where the next page begins; undefined: no records remain. */
  readonly next: Position | undefined;
}

const chunkRecords = 250;

/** The page of `batch` records (0: all) after the position. */
export function pageAt(source: PageSource, from: Position, batch: number): Page {
  const isEmpty = source.positionsAfter(from, 0).length === 0;
  const [last, after] = batch === 0 ? [] : source.positionsAfter(from, batch - 1);
  return { isEmpty, records: chunksOf(source, from, batch || Infinity), next: after && last };
}

function* chunksOf(source: PageSource, from: Position, batch: number): Generator<Buffer> {
  let position: Position | undefined = from;
  for (let remaining = batch; position && remaining > 0; remaining -= chunkRecords) {
    const most = Math.min(chunkRecords, remaining);
    yield source.recordsAfter(position, most);
    const [last, after]: Position[] = source.positionsAfter(position, most - 1);
    position = after && last;
  }
}

import { Readable } from 'node:stream';
import type { Source } from './api.js';
import type { ReadOptions } from '../job-options.js';

/** What a job reads: files, or a stream in the place of standard input. */
export interface OpenSource {
  readonly files: readonly string[];
  readonly stream?: Readable;
  readonly format?: NonNullable<ReadOptions['inputFormat']>;
}

/** A file may be called `-`, which is no standard input here. */
export function openSource(source: Source): OpenSource {
  if (typeof source === 'string') return openSource([source]);
  if (isPaths(source)) return { files: source.map((file) => (file === '-' ? './-' : file)) };
  if (source instanceof Readable) return { files: [], stream: source };
  return { files: [], stream: Readable.from(lines(source)), format: 'ndjson' };
}

const isPaths = (source: Source): source is readonly string[] =>
  Array.isArray(source) && source.length > 0 && source.every((one) => typeof one === 'string');

/** Characters that are given out together. */
const blockLength = 64 * 1024;

async function* lines(records: Iterable<object> | AsyncIterable<object>): AsyncGenerator<Buffer> {
  let block = '';
  for await (const record of records) {
    block += `${JSON.stringify(record)}\n`;
    if (block.length < blockLength) continue;
    yield Buffer.from(block);
    block = '';
  }
  yield Buffer.from(block);
}

import type { Encoding } from './encoding.js';
import type { RecordPage } from './output.js';

const separator = Buffer.from(',\n');

/** One array, each record on a line of its own as in NDJSON: `[\n{…},\n{…}\n]\n`. */
export const jsonArray: Encoding = {
  page: (page, isFirst) => {
    const parts: Buffer[] = [];
    for (let i = 0; i < page.count; i += 1) {
      parts.push(isFirst && i === 0 ? Buffer.from('[\n') : separator, recordOf(page, i));
    }
    return Buffer.concat(parts);
  },
  end: (isEmpty) => Buffer.from(isEmpty ? '[]\n' : '\n]\n'),
  warnings: [],
};

const recordOf = ({ bytes, bounds }: RecordPage, i: number): Buffer =>
  bytes.subarray(bounds[2 * i], bounds[2 * i + 1]);

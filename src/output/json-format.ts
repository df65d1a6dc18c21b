import { ndjsonLines } from './ndjson-format.js';
import type { RecordEncoder } from './output.js';

const opening = Buffer.from('[\n');
const separator = Buffer.from(',\n');

/** Encodes one array with a line per record, as in NDJSON: `[\n{…},\n{…}\n]\n`. */
export const encoder = (): RecordEncoder => ({
  page: (page, isFirst) => {
    const lines = ndjsonLines(page);
    const parts: Buffer[] = [];
    for (let start = 0; start < lines.length;) {
      const end = lines.indexOf(0x0a, start);
      parts.push(isFirst && start === 0 ? opening : separator, lines.subarray(start, end));
      start = end + 1;
    }
    return Buffer.concat(parts);
  },
  end: (isEmpty) => Buffer.from(isEmpty ? '[]\n' : '\n]\n'),
});

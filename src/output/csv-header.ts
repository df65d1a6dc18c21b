import { stringify } from 'csv-stringify/sync';

/** The first line of a CSV. */
export const csvHeader = (names: readonly string[]): Buffer =>
  Buffer.from(stringify([[...names]], { quoted_match: /\r/, record_delimiter: '\n' }));

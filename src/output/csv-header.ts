import { stringify } from 'csv-stringify/sync';

/** The first line of a CSV. */
export const csvHeader = (names: readonly string[], { bom }: { readonly bom: boolean }): Buffer =>
  Buffer.from(stringify([[...names]], { bom, quoted_match: /\r/, record_delimiter: '\n' }));

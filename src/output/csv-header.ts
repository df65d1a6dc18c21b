import { Flattener } from '../text/flattener.js';

/** The first line of a CSV: a row whose cells are the names, and how many of them are formulas. */
export function csvHeader(
  names: readonly string[],
  { bom, escapeFormulas }: { readonly bom: boolean; readonly escapeFormulas: boolean },
): { readonly line: Buffer; readonly formulas: number } {
  const members = names.map((name, index) => `"${index}":${JSON.stringify(name)}`);
  const bytes = Buffer.from(`{${members.join(',')}}`);
  const flattener = new Flattener({ columns: [], fixed: false, escapeFormulas });
  const lines = [Buffer.from(bom ? '\ufeff' : '')];
  for (const run of flattener.rows({ bytes, bounds: Int32Array.of(0, bytes.length), count: 1 })) {
    lines.push(Buffer.from(run.bytes));
  }
  return { line: Buffer.concat(lines), formulas: flattener.formulas };
}

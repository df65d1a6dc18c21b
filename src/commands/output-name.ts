import { extname } from 'node:path';
import type { OutputFormat } from '../output/output.js';

/** Format and compression that an output's name asks for; ndjson where it asks for none. */
export function formatOf(name: string | undefined): { format: OutputFormat; gzip: boolean } {
  const gzip = name !== undefined && extname(name).toLowerCase() === '.gz';
  const extension = extname(gzip ? name.slice(0, -3) : (name ?? '')).toLowerCase();
  const formats: Record<string, OutputFormat> = { '.csv': 'csv', '.json': 'json' };
  return { format: formats[extension] ?? 'ndjson', gzip };
}

import type { Command } from 'commander';
import type { Runtime } from '../runtime.js';

export function registerUpload(program: Command, _runtime: Runtime): void {
  program
    .command('upload')
    .summary('create or update user profiles; also event records')
    .argument('[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz; - reads standard input')
    .action(() => undefined);
}

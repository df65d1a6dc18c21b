import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from '../runtime.js';
import { DocumentOutput } from './document-output.js';
import type { Encoding } from './encoding.js';
import { FileSink } from './file-sink.js';
import { GzipSink } from './gzip-sink.js';
import { jsonArray } from './json-array.js';
import { ndjsonLines } from './ndjson.js';
import type { Output, OutputOptions } from './output.js';
import { PageSpill } from './page-spill.js';
import type { Sink } from './sink.js';
import { StdoutSink } from './stdout-sink.js';
import { StreamSink } from './stream-sink.js';
import { checkTarget, findTarget, type Target } from './target.js';

type World = Pick<Runtime, 'stdout' | 'cwd' | 'env'>;

/**
 * Opens what the records go to; who opens, finishes or aborts.
 * Throws E-OUTPUT-EXISTS, E-PARTIAL-EXISTS or E-FILE-WRITE.
 */
export async function openOutput(options: OutputOptions, runtime: World): Promise<Output> {
  const target = await findTarget(options.path, runtime.cwd);
  await checkTarget(target, options);
  const bare = await openSink(target, options, runtime);
  const sink = options.gzip ? new GzipSink(bare) : bare;
  if (options.format !== 'csv') {
    return new DocumentOutput(sink, options.format === 'json' ? jsonArray : ndjson);
  }
  return openCsv(sink, { target, options, env: runtime.env });
}

interface CsvRequest {
  readonly target: Target;
  readonly options: OutputOptions;
  readonly env: World['env'];
}

async function openCsv(sink: Sink, { target, options, env }: CsvRequest): Promise<Output> {
  const { columns, escapeFormulas } = options;
  if (columns !== undefined) {
    const { csvEncoding } = await import('./csv-encoding.js');
    return new DocumentOutput(sink, csvEncoding({ columns, escapeFormulas }));
  }
  const { CsvOutput } = await import('./csv-output.js');
  const keepSpool = target.kind === 'file';
  const spoolPath = keepSpool ? `${target.partial}.spool` : temporaryPath(env);
  return CsvOutput.open(sink, { escapeFormulas, spoolPath, keepSpool });
}

/** Room for pages that wait for their turn: beside the file they will go to, where there is one. */
export async function openSpill(
  path: string | undefined,
  { cwd, env }: Pick<Runtime, 'cwd' | 'env'>,
): Promise<PageSpill> {
  const target = await findTarget(path, cwd);
  return PageSpill.open(
    target.kind === 'file' ? `${target.partial}.${randomUUID()}` : temporaryPath(env),
  );
}

const temporaryPath = (env: World['env']): string =>
  join(env['TMPDIR'] ?? tmpdir(), `engagectl-${randomUUID()}.spool`);

/** Refuses targets and partials that are in the way, before anything is asked of the service. */
export async function refuseOutputsInTheWay(
  outputs: readonly OutputOptions[],
  { cwd }: Pick<Runtime, 'cwd'>,
): Promise<void> {
  for (const options of outputs) await checkTarget(await findTarget(options.path, cwd), options);
}

const ndjson: Encoding = {
  page: ndjsonLines,
  end: () => Buffer.alloc(0),
  warnings: [],
};

function openSink(target: Target, options: OutputOptions, { stdout }: World): Promise<Sink> | Sink {
  if (target.kind === 'stdout') return new StdoutSink(stdout);
  if (target.kind === 'stream') return StreamSink.open(target.name, target.path);
  return FileSink.open(target, options);
}

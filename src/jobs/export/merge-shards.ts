import { wholeLines } from '../../files/read-file.js';
import { parseFileName } from '../../contract/file-formats.js';
import { countOf, EngagectlError, groupDigits } from '../../errors.js';
import { largestPage } from '../../text/page-scanner.js';
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { openOutput, prepareOutputs } from '../../output/document-output.js';
import type { OutputOptions } from '../../output/formats.js';
import type { RecordEncoder, Output, RecordPage } from '../../output/output.js';
import type { JobContext } from '../job-context.js';

/** An NDJSON file, and how many records its shard exported. */
export interface ShardSlice {
  readonly file: string;
  readonly records: number;
}

/** A document and its slices, in order: all gzipped, or none. */
interface CollectedDocument {
  readonly options: OutputOptions;
  readonly slices: readonly ShardSlice[];
}

const chunkBytes = 1 << 20;

/**
 * Merges slices into documents, each published when complete. Throws E-OUTPUT-EXISTS, E-FILE-WRITE, and E-FILE-READ, also
 * for a slice with another number of records.
 */
export async function mergeShardOutputs(
  documents: readonly CollectedDocument[],
  { runtime, messages }: Pick<JobContext, 'runtime' | 'messages'>,
): Promise<void> {
  const options = documents.map((document) => ({ ...document.options, fresh: true }));
  await prepareOutputs(options, runtime, { ownPartials: false });
  for (const document of documents) {
    const plain = asItIs(document);
    const output = await openOutput(plain ?? document.options, runtime);
    try {
      await fill(output, document.slices, plain && document.options.gzip ? chunksOf : pagesOf);
    } finally {
      await output.abort();
    }
    for (const warning of output.warnings) messages.warn(warning);
  }
}

async function fill(
  output: Output,
  slices: readonly ShardSlice[],
  read: (slice: string) => AsyncGenerator<RecordPage, number>,
): Promise<void> {
  for (const slice of slices) await copySlice(output, slice, read);
  await output.seal();
  await output.publish();
}

async function copySlice(
  output: Output,
  { file, records }: ShardSlice,
  read: (slice: string) => AsyncGenerator<RecordPage, number>,
): Promise<void> {
  const pages = read(file);
  const next = async () => pages.next().catch((cause: Error) => notRead(file, cause.message));
  let page = await next();
  for (; !page.done; page = await next()) await output.writePage(page.value);
  if (page.value === records) return;
  const [found, exported] = [countOf(page.value, 'record'), groupDigits(records)];
  notRead(file, `it has ${found}, and its shard exported ${exported}`);
}

function notRead(file: string, why: string): never {
  throw new EngagectlError('E-FILE-READ', `cannot read the slice ${file}`, {
    why,
    fix: 'restore it, or submit the export again to another work directory',
    file,
  });
}

const isGzipped = (slice: string): boolean => parseFileName(slice).compression === 'gzip';

/** Options to concatenate the bytes, which gzip allows as well; undefined if they must be parsed. */
function asItIs({ options, slices }: CollectedDocument): OutputOptions | undefined {
  const isSame = slices.every(({ file }) => isGzipped(file) === options.gzip);
  const encoder: RecordEncoder = { page: ({ bytes }) => bytes };
  return options.format === 'ndjson' && isSame ? { ...options, gzip: false, encoder } : undefined;
}

/** Yields the bytes of a gzipped slice as they are, and returns how many records it has. */
async function* chunksOf(slice: string): AsyncGenerator<RecordPage, number> {
  let records = 0;
  for await (const { count } of pagesOf(slice)) records += count;
  for await (const chunk of createReadStream(slice, { highWaterMark: chunkBytes })) {
    yield { bytes: chunk as Buffer, bounds: new Int32Array(0), count: 1 };
  }
  return records;
}

/** Reads pages of one record per line. Returns their number. */
async function* pagesOf(slice: string): AsyncGenerator<RecordPage, number> {
  let records = 0;
  const limit = { maxBytes: largestPage, record: 'a record' };
  for await (const bytes of wholeLines(textOf(slice), limit)) {
    const bounds: number[] = [];
    for (let from = 0, end = 0; (end = bytes.indexOf(0x0a, from)) >= 0; from = end + 1)
      bounds.push(from, end);
    records += bounds.length / 2;
    yield { bytes, bounds: Int32Array.from(bounds), count: bounds.length / 2 };
  }
  return records;
}

function textOf(slice: string): Readable {
  const file = createReadStream(slice, { highWaterMark: chunkBytes });
  if (!isGzipped(slice)) return file;
  return pipeline(file, createGunzip({ chunkSize: chunkBytes }), () => undefined); // the reader throws
}

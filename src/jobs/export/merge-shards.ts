import { parseFileName } from '../../contract/file-formats.js';
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { openOutput, prepareOutputs } from '../../output/document-output.js';
import type { OutputOptions } from '../../output/formats.js';
import type { RecordEncoder, Output, RecordPage } from '../../output/output.js';
import type { JobContext } from '../job-context.js';

/** A document and the NDJSON files of its slices, in order: all gzipped, or none. */
interface CollectedDocument {
  readonly options: OutputOptions;
  readonly slices: readonly string[];
}

const chunkBytes = 1 << 20;

/**
 * Merges slices into documents, each published when complete. Throws E-OUTPUT-EXISTS, E-FILE-WRITE
 * and errors of reading.
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
      await fill(output, document.slices, plain ? chunksOf : pagesOf);
    } finally {
      await output.abort();
    }
    for (const warning of output.warnings) messages.warn(warning);
  }
}

async function fill(
  output: Output,
  slices: readonly string[],
  read: (slice: string) => AsyncGenerator<RecordPage>,
): Promise<void> {
  for (const slice of slices) {
    for await (const page of read(slice)) await output.writePage(page);
  }
  await output.seal();
  await output.publish();
}

const isGzipped = (slice: string): boolean => parseFileName(slice).compression === 'gzip';

/** Options to concatenate the bytes, which gzip allows as well; undefined if they must be parsed. */
function asItIs({ options, slices }: CollectedDocument): OutputOptions | undefined {
  const isSame = slices.every((slice) => isGzipped(slice) === options.gzip);
  const encoder: RecordEncoder = { page: ({ bytes }) => bytes };
  return options.format === 'ndjson' && isSame ? { ...options, gzip: false, encoder } : undefined;
}

async function* chunksOf(slice: string): AsyncGenerator<RecordPage> {
  for await (const chunk of createReadStream(slice, { highWaterMark: chunkBytes })) {
    yield { bytes: chunk as Buffer, bounds: new Int32Array(0), count: 1 };
  }
}

/** Reads pages of one record per line. */
async function* pagesOf(slice: string): AsyncGenerator<RecordPage> {
  let rest = Buffer.alloc(0);
  for await (const chunk of textOf(slice)) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const bounds: number[] = [];
    let from = 0;
    for (let end = 0; (end = bytes.indexOf(0x0a, from)) >= 0; from = end + 1)
      bounds.push(from, end);
    rest = Buffer.from(bytes.subarray(from)); // the consumer may overwrite the page's buffer
    yield { bytes, bounds: Int32Array.from(bounds), count: bounds.length / 2 };
  }
}

function textOf(slice: string): Readable {
  const file = createReadStream(slice, { highWaterMark: chunkBytes });
  if (!isGzipped(slice)) return file;
  return pipeline(file, createGunzip({ chunkSize: chunkBytes }), () => undefined); // the reader throws
}

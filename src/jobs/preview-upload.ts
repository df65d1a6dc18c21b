import { Intake } from '../bulk/intake.js';
import { firstRecords } from '../input/first-records.js';
import { RequestCount } from '../bulk/write/request-count.js';
import { zoneOf } from '../zone.js';
import { exitCodes } from '../errors.js';
import { openInputs, type Inputs } from '../input/open.js';
import { findingsOf, type ColumnFinding } from '../mapping/survey/findings.js';
import type { Mistake } from '../mapping/survey/mistake.js';
import { uploadMapper, type UploadMapping } from '../mapping/upload.js';
import type { Runtime } from '../runtime.js';
import { PreviewSample, type PreviewRecord, type PreviewReject } from './preview-sample.js';
import { uploadFrame, uploadMapping } from './upload.js';
import type { World } from './world.js';
import { inputOptions, writeDefaults, type UploadOptions } from './write-options.js';

/** Text that is read. Of a longer input the rest is estimated. */
const mostBytes = 16 * 1024 * 1024;
/** Nothing is sent, so nothing can be measured: what one request is taken to last. */
const assumedSecondsPerRequest = 1;

/** What an upload would do, as far as its input was read. */
export interface Preview {
  /** The first input. */
  readonly source: string;
  /** Read, rejected ones among them. */
  readonly records: number;
  readonly rejected: number;
  /** The whole input was read; else its beginning was. */
  readonly complete: boolean;
  /** Of decoded text. */
  readonly bytesRead: number;
  /** Of the whole input; null where its size is not known. */
  readonly estimate: Estimate | null;
  readonly first: readonly PreviewRecord[];
  readonly rejects: readonly PreviewReject[];
  readonly rejectReasons: readonly RejectReason[];
  readonly columns: readonly ColumnFinding[];
  readonly mistakes: readonly Mistake[];
  readonly exitCode: number;
}

interface Estimate {
  /** That would be sent. */
  readonly records: number;
  readonly requests: number;
  readonly bytes: number;
  /** A guess: no request was made that could tell. */
  readonly seconds: number;
  readonly assumed: { readonly secondsPerRequest: number; readonly inFlight: number };
}

interface RejectReason {
  readonly reason: string;
  readonly count: number;
  /** Of the first one. */
  readonly source: string;
  readonly line: number;
}

export interface PreviewRequest extends UploadOptions {
  readonly files: readonly string[];
  /** Records to show. */
  readonly count: number;
}

/**
 * What an upload would send: no connection is made, no file is written. Throws what reading and
 * mapping throw.
 */
export async function previewUpload(
  request: PreviewRequest,
  { runtime, words, timezone }: Pick<World, 'runtime' | 'words' | 'timezone'>,
): Promise<Preview> {
  const columns = await uploadMapping(request, { runtime, words });
  const mapping = { ...columns, zone: zoneOf(timezone) };
  const inputs = await openInputs(inputOptions(request.files, request), runtime);
  try {
    const { sample, complete } = await readSample(request, { inputs, mapping, runtime });
    return previewOf(request, { sample, complete, inputs, mapping });
  } finally {
    await inputs.close();
  }
}

interface Reading {
  readonly inputs: Inputs;
  readonly mapping: UploadMapping;
  readonly runtime: Runtime;
}

async function readSample(request: PreviewRequest, { inputs, mapping, runtime }: Reading) {
  const { count, limit } = request;
  const { upload, chunkBytes } = writeDefaults;
  const mapper = uploadMapper(mapping);
  for (const { header, source } of inputs.headers) mapper.check(header, source);
  const frameBytes = Buffer.byteLength(uploadFrame.join(''));
  const requests = {
    records: request.chunkSize ?? upload.chunkSize,
    bytes: request.chunkBytes ?? chunkBytes,
    frameBytes,
  };
  const sample = new PreviewSample(count, new RequestCount(requests));
  const blocks = inputs.blocks();
  const rows = limit === undefined ? blocks : firstRecords(blocks, limit);
  for await (const block of new Intake(rows).until(runtime.signal)) {
    if (sample.bytes >= mostBytes) return { sample, complete: false };
    sample.add(block, mapper.map(block));
  }
  runtime.signal.throwIfAborted();
  return { sample, complete: true };
}

interface Read {
  readonly sample: PreviewSample;
  readonly complete: boolean;
  readonly inputs: Inputs;
  readonly mapping: UploadMapping;
}

function previewOf(request: PreviewRequest, read: Read): Preview {
  const { sample, complete, inputs, mapping } = read;
  const { survey, first, rejects } = sample;
  const rejected = survey.rejected;
  return {
    source: inputs.first,
    records: survey.records + rejected,
    rejected,
    complete,
    bytesRead: sample.bytes,
    estimate: estimateOf(read, request.concurrency ?? writeDefaults.upload.concurrency),
    first,
    rejects,
    rejectReasons: [...survey.reasons].map(([reason, seen]) => ({
      reason,
      count: seen.count,
      source: seen.source,
      line: seen.line,
    })),
    ...findingsOf(
      survey,
      inputs.headers.map(({ header }) => header),
      mapping,
    ),
    exitCode: rejected > 0 ? exitCodes.rejected : exitCodes.ok,
  };
}

/** Of the whole input. Null where it is a pipe that was not read to its end. */
function estimateOf({ sample, complete, inputs }: Read, inFlight: number): Preview['estimate'] {
  const { requests, bytes } = sample.requests;
  if (!complete && inputs.totalBytes === undefined) return null;
  const factor = complete ? 1 : (inputs.totalBytes ?? 0) / Math.max(inputs.bytesRead(), 1);
  const all = Math.ceil(requests * factor);
  return {
    records: Math.round(sample.survey.records * factor),
    requests: all,
    bytes: Math.round(bytes * factor),
    seconds: Math.ceil(all / inFlight) * assumedSecondsPerRequest,
    assumed: { secondsPerRequest: assumedSecondsPerRequest, inFlight },
  };
}

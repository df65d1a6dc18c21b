import { Intake } from '../../bulk/intake.js';
import { RequestCount } from '../../bulk/write/request-count.js';
import { writes } from '../../contract/endpoints.js';
import { exitCodes } from '../../errors.js';
import { firstRecords } from '../../input/first-records.js';
import { openInputs, type Inputs } from '../../input/open.js';
import { findingsOf, type Findings } from '../../mapping/survey/findings.js';
import { uploadMapper, type UploadMapping } from '../../mapping/upload.js';
import { zoneOf } from '../../zone.js';
import { PreviewSample, type PreviewRecord, type PreviewReject } from './preview-sample.js';
import { writeDefaults, type UploadOptions } from '../job-options.js';
import { needRecords } from './need-records.js';
import { inputOptions } from '../read-input.js';
import { uploadFrame, uploadMapping } from '../upload-job.js';
import type { World } from '../world.js';

/** Text that is read. Of a longer input the rest is estimated. */
const mostBytes = 16 * 1024 * 1024;
/** Nothing is sent, so nothing can be measured: what one request is taken to last. */
const secondsPerRequest = 1;

export interface PreviewRequest extends UploadOptions {
  readonly files: readonly string[];
  /** Records to show. */
  readonly count: number;
}

/** What an upload would do, as far as its input was read. */
export interface Preview extends Findings {
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
  readonly exitCode: number;
}

interface RejectReason {
  readonly reason: string;
  readonly count: number;
  /** Of the first one. */
  readonly source: string;
  readonly line: number;
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

/**
 * What an upload would send; nothing is sent: no connection is made, no file is written. Throws
 * what reading and mapping throw.
 */
export async function previewUpload(
  request: PreviewRequest,
  world: Pick<World, 'runtime' | 'words' | 'timezone'>,
): Promise<Preview> {
  const { runtime, timezone } = world;
  const mapping = { ...(await uploadMapping(request, world)), zone: zoneOf(timezone) };
  const options = inputOptions(request.files, request);
  const inputs = await openInputs(options, runtime);
  const least = mapping.expected?.minRecords;
  try {
    if (least && inputs.totalBytes !== undefined) {
      await needRecords(least, await openInputs(options, runtime), runtime.signal);
    }
    return await readPreview(request, mapping, inputs, runtime.signal);
  } finally {
    await inputs.close();
  }
}

async function readPreview(
  request: PreviewRequest,
  mapping: UploadMapping,
  inputs: Inputs,
  signal: AbortSignal,
): Promise<Preview> {
  const mapper = uploadMapper(mapping);
  for (const { header, source } of inputs.headers) mapper.check(header, source);
  const sample = new PreviewSample(request.count, requestCount(request));
  const blocks = inputs.blocks();
  const rows = request.limit === undefined ? blocks : firstRecords(blocks, request.limit);
  let complete = true;
  for await (const block of new Intake(rows).until(signal)) {
    complete = sample.bytes < mostBytes;
    if (!complete) break;
    sample.add(mapper.map(block));
  }
  if (complete) signal.throwIfAborted();
  const { survey, first, rejects } = sample;
  const headers = inputs.headers.map(({ header }) => header);
  return {
    source: inputs.first,
    records: survey.records + survey.rejected,
    rejected: survey.rejected,
    complete,
    bytesRead: sample.bytes,
    estimate: estimateOf(sample, complete, inputs, request),
    first,
    rejects,
    rejectReasons: [...survey.reasons].map(([reason, { count, source, line }]) => {
      return { reason, count, source, line };
    }),
    ...findingsOf(survey, headers, mapping),
    exitCode: survey.rejected > 0 ? exitCodes.rejected : exitCodes.ok,
  };
}

function requestCount({ chunkSize, chunkBytes = writeDefaults.chunkBytes }: PreviewRequest) {
  const records = chunkSize ?? writes.upload.records;
  const frameBytes = Buffer.byteLength(uploadFrame.join(''));
  return new RequestCount({ records, bytes: chunkBytes, frameBytes });
}

/** Of the whole input. Null where it is a pipe that was not read to its end. */
function estimateOf(
  { survey, requests }: PreviewSample,
  complete: boolean,
  inputs: Inputs,
  { concurrency: inFlight = writes.upload.inFlight }: PreviewRequest,
): Estimate | null {
  if (!complete && inputs.totalBytes === undefined) return null;
  const factor = complete ? 1 : (inputs.totalBytes ?? 0) / Math.max(inputs.bytesRead(), 1);
  const all = Math.ceil(requests.requests * factor);
  return {
    records: Math.round(survey.records * factor),
    requests: all,
    bytes: Math.round(requests.bytes * factor),
    seconds: Math.ceil(all / inFlight) * secondsPerRequest,
    assumed: { secondsPerRequest, inFlight },
  };
}

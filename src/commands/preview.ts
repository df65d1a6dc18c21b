import { Intake } from '../bulk/intake.js';
import { firstRecords } from '../input/first-records.js';
import { RequestCount } from '../bulk/write/request-count.js';
import { zoneOf } from '../zone.js';
import { EngagectlError, exitCodes } from '../errors.js';
import { openInputs, type Inputs } from '../input/open.js';
import { findingsOf } from '../mapping/survey/findings.js';
import { uploadMapper, type UploadMapping } from '../mapping/upload.js';
import type { Runtime } from '../runtime.js';
import { showPreview, type Preview } from '../ui/show-preview.js';
import { uploadFrame, uploadMapping } from '../jobs/upload.js';
import { inputOptions, type UploadOptions } from '../jobs/write-options.js';
import { jobWords } from './job-words.js';
import type { Settings } from './settings.js';
import { PreviewSample } from './preview-sample.js';
import type { WriteFlags } from './write-options.js';

/** Text that is read. Of a longer input the rest is estimated. */
const mostBytes = 16 * 1024 * 1024;
/** Nothing is sent, so nothing can be measured: what one request is taken to last. */
const assumedSecondsPerRequest = 1;

export interface PreviewCommand {
  readonly files: readonly string[];
  readonly flags: WriteFlags & UploadOptions;
  /** Records to show. */
  readonly count: number;
}

/**
 * Shows on stdout what an upload would send, and sends nothing: no connection is made, no file is
 * written. Throws E-REJECTED where rows would be rejected, and what reading and mapping throw.
 */
export async function previewUpload(
  command: PreviewCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const zone = zoneOf(settings.timezone ?? 'UTC');
  const columns = await uploadMapping(command.flags, { runtime, words: jobWords });
  const mapping = { ...columns, zone };
  const inputs = await openInputs(inputOptions(command.files, command.flags), runtime);
  try {
    const { sample, complete } = await readSample(command, { inputs, mapping, runtime });
    const preview = previewOf(command, { sample, complete, inputs, mapping });
    showPreview(preview, settings, runtime);
    if (preview.rejected > 0) throw wouldBeRejected(preview);
  } finally {
    await inputs.close();
  }
}

interface Reading {
  readonly inputs: Inputs;
  readonly mapping: UploadMapping;
  readonly runtime: Runtime;
}

async function readSample(command: PreviewCommand, { inputs, mapping, runtime }: Reading) {
  const { flags, count } = command;
  const mapper = uploadMapper(mapping);
  for (const { header, source } of inputs.headers) mapper.check(header, source);
  const frameBytes = Buffer.byteLength(uploadFrame.join(''));
  const requests = { records: flags.chunkSize, bytes: flags.chunkBytes, frameBytes };
  const sample = new PreviewSample(count, new RequestCount(requests));
  const blocks = inputs.blocks();
  const rows = flags.limit === undefined ? blocks : firstRecords(blocks, flags.limit);
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

function previewOf({ flags }: PreviewCommand, read: Read): Preview {
  const { sample, complete, inputs, mapping } = read;
  const { survey, first, rejects } = sample;
  const rejected = survey.rejected;
  return {
    source: inputs.first,
    records: survey.records + rejected,
    rejected,
    complete,
    bytesRead: sample.bytes,
    estimate: estimateOf(read, flags.concurrency),
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

const wouldBeRejected = ({ rejected, records }: Preview): EngagectlError =>
  new EngagectlError('E-REJECTED', `${rejected} of ${records} records would be rejected`, {
    fix: 'correct them, or let the upload pass over them; --check writes all of them to a file',
  });

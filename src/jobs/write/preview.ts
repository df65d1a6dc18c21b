import { PeekableIterator } from '../../bulk/peekable-iterator.js';
import { writeEndpoints } from '../../contract/endpoints.js';
import { exitCodes } from '../../errors.js';
import { cellCleaning } from '../../text/cell-cleaning.js';
import { loadFormats } from '../../mapping/cell-formats.js';
import { cleanRows, limitRecords, type RowBlock } from '../../input/row-block.js';
import { openInputs, type Inputs } from '../../input/inputs.js';
import { previewFindings, type PreviewFindings } from '../../mapping/preview/findings.js';
import { exportedKind } from '../../mapping/exported-csv.js';
import { uploadMapper } from '../../mapping/upload-mapper.js';
import { timeZone } from '../../time-zone.js';
import { writeDefaults, type UploadOptions } from '../job-options.js';
import {
  inferWithQuestions,
  mappingFileTarget,
  writeMappingFile,
  type ChooseType,
  type MappingFileOptions,
} from './write-mapping-file.js';
import { requireRecords, unseenColumnsError } from './required-columns.js';
import { inputOptions } from '../input-files.js';
import { keyColumns, uploadFrame, uploadMapping } from './upload.js';
import { FieldStatistics } from '../../mapping/preview/field-statistics.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { MappingFile } from '../../mapping/mapping-file-schema.js';
import type { JobContext } from '../job-context.js';
import type { RecordBlock, RejectedRow } from '../../mapping/record-block.js';

/** Maximum bytes to read. Longer inputs are extrapolated. */
const mostBytes = 16 * 1024 * 1024;
/** Maximum record and cell offsets in memory; they outweigh the text if records are tiny. */
const mostNumbers = 8 * 1024 * 1024;
/** Assumed duration of a request, since nothing is sent that could be measured. */
const secondsPerRequest = 1;

interface PreviewRequest extends UploadOptions {
  readonly files: readonly string[];
  /** Number of records to show. */
  readonly count: number;
  /** File for a mapping inferred from the input. The preview uses that mapping. */
  readonly writeMapping?: string;
  /** Replace an existing mapping file. */
  readonly overwrite?: boolean;
}

/** Expected result of an upload, based on the part of the input that was read. */
export interface Preview extends PreviewFindings {
  /** Name of the first input. */
  readonly source: string;
  /** Records read, including rejected ones. */
  readonly records: number;
  readonly rejected: number;
  /** The whole input was read, not just its beginning. */
  readonly complete: boolean;
  /** Bytes of decoded text. */
  readonly bytesRead: number;
  /** Estimate for the whole input; null if its size is unknown. */
  readonly estimate: Estimate | null;
  readonly first: readonly PreviewRecord[];
  readonly rejects: readonly PreviewReject[];
  readonly rejectReasons: readonly RejectReason[];
  /** The inferred mapping. */
  readonly drafted: MappingFile | null;
  /** How many values fit the formats of the inferred mapping. */
  readonly evidence: readonly string[];
  readonly exitCode: number;
}

interface RejectReason {
  readonly reason: string;
  readonly count: number;
  /** Source of the first occurrence. */
  readonly source: string;
  readonly line: number;
}

interface Estimate {
  /** Records that would be sent. */
  readonly records: number;
  readonly requests: number;
  readonly bytes: number;
  /** Based on an assumed duration, not measured. */
  readonly seconds: number;
  readonly assumed: { readonly secondsPerRequest: number; readonly inFlight: number };
}

interface PreviewContext extends Pick<JobContext, 'runtime' | 'words' | 'timezone'> {
  /** Asks about columns that can be read in several ways; without it, they are errors. */
  readonly choose?: ChooseType | undefined;
}

/**
 * Previews an upload without connecting. Writes no file but `writeMapping`. Throws errors of
 * reading and mapping, and E-OUTPUT-EXISTS.
 */
export async function previewUpload(
  request: PreviewRequest,
  context: PreviewContext,
): Promise<Preview> {
  const { runtime } = context;
  const mapping = await mappingFor(request, context);
  const cleaned = { ...mapping.cleaning, ...request };
  const options = inputOptions(request.files, cleaned, { keyColumns: keyColumns(mapping) });
  const inputs = await openInputs(options, runtime);
  const least = mapping.expected?.minRecords;
  try {
    if (least && inputs.totalBytes !== undefined) {
      await requireRecords(least, await openInputs(options, runtime), runtime.signal);
    }
    const beginning = new Beginning(inputs, request.limit);
    const blocks = beginning.blocks(runtime.signal);
    const { writeMapping } = request;
    if (writeMapping === undefined) return await readPreview(request, mapping, beginning, blocks);
    return await draft({ ...request, writeMapping }, mapping, { ...context, beginning, blocks });
  } finally {
    await inputs.close();
  }
}

async function mappingFor(request: PreviewRequest, context: PreviewContext, drafted?: MappingFile) {
  const mapping = await uploadMapping(request, context, drafted);
  return { ...mapping, zone: timeZone(context.timezone) };
}

interface Reading extends PreviewContext {
  readonly beginning: Beginning;
  readonly blocks: AsyncIterable<RowBlock>;
}

/** Infers a mapping, writes it and previews the upload with it. */
async function draft(
  request: PreviewRequest & MappingFileOptions,
  given: UploadMapping,
  { beginning, blocks, ...context }: Reading,
): Promise<Preview> {
  const target = await mappingFileTarget(request, context);
  const rows: RowBlock[] = [];
  for await (const block of blocks) rows.push(block);
  await loadFormats(['phone(DE)']);
  const known = request.trim === true ? { ...given, cleaning: { trim: true } } : given;
  const { drafted, evidence } = await inferWithQuestions(rows, beginning.inputs, known, context);
  const mapping = await mappingFor(request, context, drafted);
  const cleaning = cellCleaning({ ...mapping.cleaning, ...request });
  const cleaned = cleaning ? rows.map((block) => cleanRows(block, cleaning)) : rows;
  const preview = await readPreview(request, mapping, beginning, cleaned);
  await writeMappingFile(drafted, target, request.overwrite === true);
  return { ...preview, drafted, evidence };
}

/** Reads the first rows of an input. */
class Beginning {
  readonly inputs: Inputs;
  readonly #limit: number | undefined;
  isAll = true;
  bytes = 0;
  #numbers = 0;

  constructor(inputs: Inputs, limit: number | undefined) {
    this.inputs = inputs;
    this.#limit = limit;
  }

  async *blocks(signal: AbortSignal): AsyncGenerator<RowBlock> {
    const blocks = this.inputs.blocks();
    const rows = this.#limit === undefined ? blocks : limitRecords(blocks, this.#limit);
    for await (const block of new PeekableIterator(rows).until(signal)) {
      this.isAll = this.bytes < mostBytes && this.#numbers < mostNumbers;
      if (!this.isAll) return;
      this.bytes += block.bytes.length;
      this.#numbers += 3 * block.count + (block.cells?.bounds.length ?? 0);
      yield block;
    }
    signal.throwIfAborted();
  }
}

async function readPreview(
  request: PreviewRequest,
  mapping: UploadMapping,
  beginning: Beginning,
  blocks: AsyncIterable<RowBlock> | Iterable<RowBlock>,
): Promise<Preview> {
  const { inputs } = beginning;
  const mapper = uploadMapper(mapping);
  for (const { header, source } of inputs.headers) mapper.check(header, source);
  const sample = new PreviewSample(request.count, requestCount(request));
  for await (const block of blocks) sample.add(mapper.map(block));
  const unseen = mapper.unseenColumns?.() ?? [];
  if (beginning.isAll && unseen.length > 0) throw unseenColumnsError(unseen, inputs.first);
  const { statistics, first, rejects } = sample;
  const headers = inputs.headers
    .map(({ header }) => header)
    .filter((header) => exportedKind(header, mapping) === undefined);
  return {
    source: inputs.first,
    records: statistics.records + statistics.rejected,
    rejected: statistics.rejected,
    complete: beginning.isAll,
    bytesRead: beginning.bytes,
    estimate: estimateOf(sample, beginning, request),
    first,
    rejects,
    rejectReasons: [...statistics.reasons].map(([reason, { count, source, line }]) => {
      return { reason, count, source, line };
    }),
    ...previewFindings(statistics, headers, mapping),
    drafted: null,
    evidence: [],
    exitCode: statistics.rejected > 0 ? exitCodes.rejected : exitCodes.ok,
  };
}

function requestCount({ chunkSize, chunkBytes = writeDefaults.chunkBytes }: PreviewRequest) {
  const records = chunkSize ?? writeEndpoints.upload.records;
  const frameBytes = Buffer.byteLength(uploadFrame.join(''));
  return new RequestEstimate({ records, bytes: chunkBytes, frameBytes });
}

/** Estimates the whole input. Null for a pipe that was not read to its end. */
function estimateOf(
  { statistics, requests }: PreviewSample,
  { isAll, inputs }: Beginning,
  { concurrency = 'auto' }: PreviewRequest,
): Estimate | null {
  if (!isAll && inputs.totalBytes === undefined) return null;
  const inFlight = concurrency === 'auto' ? writeEndpoints.upload.inFlight : concurrency;
  const factor = isAll ? 1 : (inputs.totalBytes ?? 0) / Math.max(inputs.bytesRead(), 1);
  const all = Math.ceil(requests.requests * factor);
  return {
    records: Math.round(statistics.records * factor),
    requests: all,
    bytes: Math.round(requests.bytes * factor),
    seconds: Math.ceil(all / inFlight) * secondsPerRequest,
    assumed: { secondsPerRequest, inFlight },
  };
}

/** Maximum rejects to list; the others are only counted by reason. */
const maxRejects = 5;

interface Place {
  readonly source: string;
  readonly line: number;
}

/** A record to send, and its input line. */
interface PreviewRecord extends Place {
  /** JSON text. */
  readonly record: string;
}

type PreviewReject = Place & Omit<RejectedRow, 'row'>;

/** Collects the first records of an input and statistics of all. */
class PreviewSample {
  readonly statistics = new FieldStatistics();
  readonly requests: RequestEstimate;
  readonly first: PreviewRecord[] = [];
  readonly rejects: PreviewReject[] = [];
  readonly #previewed: number;

  constructor(previewed: number, requests: RequestEstimate) {
    this.#previewed = previewed;
    this.requests = requests;
  }

  add(block: RecordBlock): void {
    const { rows, count, row, json, bounds } = block;
    const { source, lines } = rows;
    this.statistics.add(block);
    this.requests.add(block);
    const previewed = Math.min(count, this.#previewed - this.first.length);
    for (let index = 0; index < previewed; index++) {
      const record = json.toString('utf8', bounds[2 * index], bounds[2 * index + 1]);
      this.first.push({ source, line: lines[row[index]!] ?? 0, record });
    }
    const room = maxRejects - this.rejects.length;
    if (room > 0) this.rejects.push(...rejectsOf(block).slice(0, room));
  }
}

/** Lists the rejects of a block by line. */
function rejectsOf({
  rows: { source, lines, parseErrors },
  rejects,
}: RecordBlock): PreviewReject[] {
  const unread = parseErrors.map(
    ({ line, error }) => ({ source, line, stage: 'parse', error }) as const,
  );
  const unfit = rejects.map(({ row, ...why }) => ({ source, line: lines[row] ?? 0, ...why }));
  return [...unread, ...unfit].toSorted((a, b) => a.line - b.line);
}

interface RequestLimits {
  readonly records: number;
  /** Maximum bytes of a request body. */
  readonly bytes: number;
  /** Bytes around the records. */
  readonly frameBytes: number;
}

/**
 * Estimates the number of requests: full batches, separate for events and profiles. Ignores
 * per-key ordering, which can add a few requests.
 */
class RequestEstimate {
  requests = 0;
  /** Bytes of all request bodies. */
  bytes = 0;
  readonly #limits: RequestLimits;
  /** Size of the open request, for profiles and for events. */
  readonly #records = [0, 0];
  readonly #bytes = [0, 0];

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  add({ count, bounds, kinds }: RecordBlock): void {
    for (let index = 0; index < count; index++) {
      this.#addRecord(kinds[index]!, bounds[2 * index + 1]! - bounds[2 * index]!);
    }
  }

  #addRecord(kind: number, bytes: number): void {
    const { records: most, bytes: mostBytes, frameBytes } = this.#limits;
    const isFull = this.#records[kind] === most || this.#bytes[kind]! + bytes + 1 > mostBytes;
    if (this.#records[kind] === 0 || isFull) {
      this.requests += 1;
      this.bytes += frameBytes + bytes;
      this.#records[kind] = 1;
      this.#bytes[kind] = frameBytes + bytes;
    } else {
      this.bytes += bytes + 1;
      this.#records[kind]! += 1;
      this.#bytes[kind]! += bytes + 1;
    }
  }
}

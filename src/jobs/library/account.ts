import { LibraryContext, startRun, streamOf, toEngagectlError } from './library-context.js';
import { EngagectlError, countOf, sourceLine } from '../../errors.js';
import { identifierKinds, type IdentifierKind } from '../../contract/endpoints.js';
import { BoundedQueue, channelReader, type AsyncChannel } from './async-channel.js';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { definedOf, isPlain, refuseWrongOptions, type RecordJob } from '../job-options.js';
import type {
  DemergeOptions,
  JobOptions,
  SubscribeOptions,
  UploadOptions,
  WriteOptions,
  VerifyOptions,
  DayFileOptions,
  LookUpOptions,
  ReadOptions,
} from '../job-options.js';
import type {
  Account,
  ConnectOptions,
  Source,
  WriteRun,
  VerifyDifference,
  VerifyRun,
  Export,
  JsonObject,
  LookedUpUser,
  UserIdentifier,
} from './api.js';
import type { RuntimeOf } from './library-context.js';
import type { WriteHooks, WriteRequest } from '../write/write-request.js';
import type { WriteResult, RejectedRecord, ExportResult } from '../job-results.js';
import type { JobContext } from '../job-context.js';
import type { RecordPage, Checkpoint, FileMark, Output } from '../../output/output.js';
import type { ExportRequest } from '../export/export-files.js';
import type { ExportHooks } from '../export/run-export.js';
import type { Identifier } from '../../mapping/identity.js';
import type { LookupTarget, ProfileSink } from '../get-profiles.js';

/** Creates an account without sending anything. Loads each job on first use. */
export function createAccount(options: ConnectOptions, runtimeOf: RuntimeOf): Account {
  const library = new LibraryContext(options, runtimeOf);
  const close = () => library.close();
  const write =
    <Options extends WriteOptions>(name: RecordJob, load: () => Promise<WriteJob<Options>>) =>
    (source: Source, options?: Options & JobOptions) =>
      startWrite(library, load, {
        name,
        source,
        options: asGiven(options ?? ({} as Options & JobOptions)),
      });
  return {
    upload: write<UploadOptions>('upload', async () => (await import('../write/upload.js')).upload),
    subscribe: write<SubscribeOptions>(
      'subscribe',
      async () => (await import('../write/subscribe.js')).subscribe,
    ),
    demerge: write<DemergeOptions>(
      'demerge',
      async () => (await import('../write/demerge.js')).demerge,
    ),
    exportProfiles: (options) => {
      const query = asGiven(options);
      return createExport(library, query, async (request, context, hooks) => {
        const { exportProfiles } = await import('../export/export-profiles.js');
        return exportProfiles({ ...query, ...request }, context, hooks);
      });
    },
    exportEvents: (options) => {
      const query = asGiven(options);
      return createExport(library, query, async (request, context, hooks) => {
        const { exportEvents } = await import('../export/export-events.js');
        return exportEvents({ ...query, ...request }, context, hooks);
      });
    },
    verify: (source, options = {}) => startVerify(library, source, asGiven(options)),
    getProfile: (user, options = {}) => lookUpUser(library, user, asGiven(options)),
    getProfiles: (source, options = {}) => lookUpUsers(library, source, asGiven(options)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Copies options, because a job reads them after its caller got control back, and may use the object and its lists for
 * the next job. Other values are left as they are, and refused when the job starts: a copy would lose members that they
 * inherit.
 */
function asGiven<Options>(options: Options): Options {
  if (!isPlain(options)) return options;
  const members = Object.entries<unknown>(definedOf(options));
  return Object.fromEntries(members.map(([name, value]) => [name, copyOf(value)])) as Options;
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice();
  return isPlain(value) ? definedOf(value) : value;
}

type WriteJob<Options> = (
  request: WriteRequest & Options,
  context: JobContext,
  hooks: WriteHooks,
) => Promise<WriteResult>;

/** Starts a write; `load` imports its function. */
function startWrite<Options extends WriteOptions>(
  library: LibraryContext,
  load: () => Promise<WriteJob<Options>>,
  {
    name,
    source,
    options,
  }: {
    readonly name: RecordJob;
    readonly source: Source;
    readonly options: Options & JobOptions;
  },
): WriteRun {
  const rejects = new BoundedQueue();
  const { files, stream, format } = openSource(source);
  const context = library.of(options.signal, stream);
  const work = startRun(context, async (started) => {
    refuseUnknownRehearsal(options);
    refuseWrongOptions(options, { job: name, autoConcurrency: true });
    if (options.resume) library.needRuns();
    const job = await load();
    return job(
      { ...(format && { inputFormat: format }), ...options, files, journal: library.keepsRuns },
      context,
      { started, rejected: (record) => rejects.add(record), ready: () => rejects.ready() },
    );
  });
  const { lines, ...run } = rejects.of(work);
  return { ...run, rejects: lines };
}

/**
 * Refuses what a caller without types would take for a rehearsal. The run would send everything: a demerge is done with
 * `dryRun: true`, the name of the flag.
 */
function refuseUnknownRehearsal(options: WriteOptions): void {
  const { rehearsal } = options;
  const flag = Object.keys(options).find(
    (name) => /^-*(?:check|dry[-_]?run|preview)$/i.test(name) && Reflect.get(options, name),
  );
  const isKnown = [undefined, 'check', 'dryRun'].includes(rehearsal);
  if (flag === undefined && isKnown) return;
  throw new EngagectlError(
    'E-USAGE',
    flag === undefined
      ? `rehearsal must be 'check' or 'dryRun', found ${JSON.stringify(rehearsal)}`
      : `${flag} is not an option of the library`,
    { fix: "use rehearsal: 'check' or rehearsal: 'dryRun'; nothing was sent" },
  );
}

/** Starts to verify the records of a source. */
function startVerify(
  library: LibraryContext,
  source: Source,
  options: VerifyOptions & JobOptions,
): VerifyRun {
  const found = new BoundedQueue<VerifyDifference | RejectedRecord>();
  const { files, stream, format } = openSource(source);
  const context = library.of(options.signal, stream);
  const sink = {
    write: async (line: Buffer) => {
      found.add(JSON.parse(line.toString()) as VerifyDifference | RejectedRecord);
      await found.ready();
    },
    finish: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
  const work = startRun(context, async (started) => {
    refuseWrongOptions(options);
    if (options.subscriptions) refuseWrongOptions(options.subscriptions, { job: 'subscribe' });
    const { verify } = await import('../verify/verify.js');
    const request = { ...(format && { inputFormat: format }), ...options, files };
    return verify({ ...request, into: () => Promise.resolve(sink) }, context, { started });
  });
  const { lines, ...run } = found.of(work);
  return { ...run, differences: lines };
}

type ExportJob = (
  request: Pick<ExportRequest, 'output' | 'into'> & DayFileOptions,
  context: JobContext,
  hooks?: ExportHooks,
) => Promise<ExportResult>;

/** Creates an export that starts when its records are read or written to a file. */
function createExport(
  library: LibraryContext,
  query: JobOptions,
  run: ExportJob,
): Export<DayFileOptions> {
  const { signal } = query;
  const job: ExportJob = async (request, ...more) => {
    refuseWrongOptions(query);
    refuseFileOptions(query);
    return run(request, ...more);
  };
  const texts = () =>
    textsOf(
      channelReader<RecordPage>(async (pages, left) => {
        const context = library.of(signal, undefined, left);
        const { error } = await toEngagectlError(
          job({ into: new PageChannel(pages) }, context),
          context,
        );
        return error;
      }),
    );
  async function* records(): AsyncGenerator<JsonObject> {
    for await (const text of texts()) yield JSON.parse(text) as JsonObject;
  }
  return {
    texts,
    records,
    [Symbol.asyncIterator]: records,
    toFile: (output, given = {}) => {
      const context = library.of(signal);
      const options = asGiven(given);
      return startRun(context, async (started) => {
        refuseNoName(output);
        refuseWrongOptions(options);
        if (options.resume) library.needRuns();
        return job({ ...options, output: output === '-' ? './-' : output }, context, { started });
      });
    },
  };
}

/** Refuses options of a file in a query, which may be a visitor's: they would replace the file. */
function refuseFileOptions(query: object): void {
  const ofFile: readonly string[] = ['overwrite', 'fresh', 'resume', 'missing', 'refresh'];
  const found = ofFile.find((name) => Reflect.get(query, name) !== undefined);
  if (found === undefined) return;
  throw new EngagectlError('E-USAGE', `${found} is an option of toFile, not of the query`);
}

/** Refuses a path that a caller without types left out: the job would write to the program's stdout. */
function refuseNoName(output: unknown): void {
  if (typeof output === 'string' && output !== '') return;
  const found = JSON.stringify(output) ?? 'undefined';
  throw new EngagectlError('E-USAGE', `toFile requires the path of a file, found ${found}`);
}

/** Output that hands pages to a reader, one at a time. */
class PageChannel implements Output {
  readonly name = 'the reader';
  readonly rewindable = false;
  readonly warnings: readonly string[] = [];
  readonly #pages: AsyncChannel<RecordPage>;
  #bytes = 0;
  #records = 0;

  constructor(pages: AsyncChannel<RecordPage>) {
    this.#pages = pages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async writePage(page: RecordPage): Promise<void> {
    await this.#pages.put(page);
    this.#records += page.count;
    for (let record = 0; record < page.count; record += 1) {
      this.#bytes += page.bounds[2 * record + 1]! - page.bounds[2 * record]!;
    }
  }

  checkpoint(): Checkpoint {
    return { bytes: this.#bytes, crc: 0, records: this.#records };
  }

  rewind(): Promise<void> {
    throw new Error('pages that were read cannot be rewound');
  }

  seal(): Promise<FileMark> {
    return Promise.resolve(this.checkpoint());
  }

  async sync(): Promise<void> {}
  async publish(): Promise<void> {}
  async abort(): Promise<void> {}
}

/** Yields the JSON text of each record. */
async function* textsOf(pages: AsyncIterable<RecordPage>): AsyncGenerator<string> {
  for await (const { bytes, bounds, count } of pages) {
    for (let record = 0; record < count; record += 1) {
      yield bytes.toString('utf8', bounds[2 * record], bounds[2 * record + 1]);
    }
  }
}

type Options = LookUpOptions & JobOptions;

/** Looks up one user; undefined if there is none. */
async function lookUpUser(
  library: LibraryContext,
  user: UserIdentifier,
  options: Options,
): Promise<JsonObject | undefined> {
  const { by, value } = identifierOf(user);
  for await (const { profile } of lookUpAll(library, { by, values: [value] }, options)) {
    return profile;
  }
  return undefined;
}

/** Refuses users that a caller without types may pass: of two identifiers, each may be of another user. */
function identifierOf(user: unknown): Identifier {
  const members = Object.entries(Object(user) as object).filter(
    ([, value]) => value !== undefined,
  ) as [string, unknown][];
  const [[name, value] = ['', '']] = members;
  const by = kindOf(name);
  if (members.length > 1 || (members.length === 1 && by === undefined)) {
    const found = members.map((member) => member[0]).join(', ');
    const wanted = `the user must have one of ${identifierKinds.join(', ')}`;
    throw new EngagectlError('E-USAGE', `${wanted}, found ${found}`);
  }
  if (by === undefined || typeof value !== 'string' || value === '')
    throw new EngagectlError('E-USAGE', 'the identifier of the user is empty');
  return { by, value };
}

const kindOf = (name: string): IdentifierKind | undefined =>
  identifierKinds.find((kind) => kind === name);

/** Looks up the users of a source, in order. */
function lookUpUsers(
  library: LibraryContext,
  source: Source,
  options: Options,
): AsyncGenerator<LookedUpUser> {
  const { by } = options;
  if (by !== undefined && kindOf(by) === undefined) {
    const wanted = `by must be one of ${identifierKinds.join(', ')}`;
    throw new EngagectlError('E-USAGE', `${wanted}, found ${JSON.stringify(by)}`);
  }
  const { files, stream, format } = openSource(source);
  if (files.length > 1) {
    throw new EngagectlError('E-USAGE', 'getProfiles accepts only one file');
  }
  const [input = '-'] = files;
  const how = { ...(format && { inputFormat: format }), ...options };
  return lookUpAll(library, { by, input }, how, stream);
}

async function* lookUpAll(
  library: LibraryContext,
  users: LookupTarget,
  options: Options,
  stream?: Parameters<LibraryContext['of']>[1],
): AsyncGenerator<LookedUpUser> {
  const failures: RejectedRecord[] = [];
  const { signal } = options;
  yield* channelReader<LookedUpUser>(async (found, left) => {
    const context = library.of(signal, stream, left);
    const into: ProfileSink = {
      bytes: 0,
      warnings: [],
      write: (record, { by, value }) => {
        const profile = record && (JSON.parse(record.toString()) as JsonObject);
        return found.put({ by, value, profile });
      },
      finish: () => Promise.resolve(),
      abort: () => Promise.resolve(),
    };
    const rejected = (record: RejectedRecord) => {
      if (record.stage === 'parse' || record.stage === 'validate') failures.push(record);
    };
    const lookUp = async () => {
      refuseWrongOptions(options, { job: 'getProfiles' });
      const { getProfiles } = await import('../get-profiles.js');
      return getProfiles({ ...options, users, into }, context, { rejected });
    };
    const { error } = await toEngagectlError(lookUp(), context);
    if (error && error.id !== 'E-NOT-FOUND') return error;
    return failuresOf(failures);
  });
}

/** Builds the error for records without a usable identifier, thrown at the end. */
function failuresOf([first, ...others]: readonly RejectedRecord[]): EngagectlError | undefined {
  if (first === undefined) return undefined;
  const { source, line, error } = first;
  return new EngagectlError(
    'E-REJECTED',
    `${countOf(1 + others.length, 'record')} without a valid identifier`,
    {
      why: `${sourceLine(source, line)}: ${error}`,
      fix: 'correct these records; all others were looked up',
    },
  );
}

/** Input of a job: files, or a stream that replaces standard input. */
export interface OpenSource {
  readonly files: readonly string[];
  readonly stream?: Readable;
  readonly format?: NonNullable<ReadOptions['inputFormat']>;
}

/** Resolves a source. A file named `-` does not mean standard input here. */
function openSource(source: Source): OpenSource {
  if (typeof source === 'string') return { files: [source === '-' ? './-' : source] };
  if (isUrls(source)) return { files: source.map(pathOf) };
  if (isArrayOf(source, (one) => typeof one === 'string')) throw textsAsSource();
  // Reading a stream throws its error; until then, nobody else may listen to it.
  if (source instanceof Readable) return { files: [], stream: source.on('error', () => {}) };
  if (!isIterable(source)) throw noSource(source);
  // Copied like options: its caller may empty the array, and fill it for the next job.
  const records: Records = Array.isArray(source) ? source.slice() : source;
  return { files: [], stream: streamOfRecords(records), format: 'ndjson' };
}

type Records = Iterable<object> | AsyncIterable<object>;

/** Returns a stream of lines. No more records are taken from the source once it is destroyed. */
function streamOfRecords(records: Records): Readable {
  const stop = new AbortController();
  const blocks = lines(records, stop.signal);
  return streamOf(blocks, () => {
    stop.abort();
    void endQuietly(blocks);
  });
}

/** Lets a source clean up. Nobody waits for that, so an error has no reader. */
const endQuietly = async (blocks: AsyncGenerator<Buffer>): Promise<unknown> =>
  blocks.return(undefined).catch(() => undefined);

const isArrayOf = (source: Source, isOne: (one: unknown) => boolean): boolean =>
  Array.isArray(source) && source.length > 0 && source.every(isOne);

const isUrls = (source: Source): source is readonly URL[] =>
  isArrayOf(source, (one) => one instanceof URL);

/** A caller without types may pass a single record, or nothing. */
const isIterable = (source: unknown): boolean =>
  typeof source === 'object' &&
  source !== null &&
  (Symbol.iterator in source || Symbol.asyncIterator in source);

function noSource(source: unknown): EngagectlError {
  const found = source === null ? 'null' : typeof source;
  return new EngagectlError('E-USAGE', `the source holds no records, found ${found}`, {
    fix: 'pass an array of records, [{ identity: "a" }], an iterable, a stream, or the path of a file',
  });
}

function pathOf(file: URL): string {
  if (file.protocol === 'file:') return fileURLToPath(file);
  throw new EngagectlError('E-USAGE', `${file.protocol} is not the address of a file`);
}

/** A visitor's JSON can be an array of texts, but not of file URLs: it must not name files of this machine. */
const textsAsSource = (): EngagectlError =>
  new EngagectlError('E-USAGE', 'an array of texts is not a source', {
    why: 'records are objects, and several files are file URLs, which nobody can send as JSON',
    fix: "[pathToFileURL('a.csv'), pathToFileURL('b.csv')] for files, [{ identity: 'a' }] for records",
  });

/** Minimum characters per chunk. */
const blockLength = 64 * 1024;

async function* lines(records: Records, signal: AbortSignal): AsyncGenerator<Buffer> {
  let block = '';
  try {
    for await (const record of records) {
      if (signal.aborted) return;
      block += `${lineOf(record)}\n`;
      if (block.length < blockLength) continue;
      yield Buffer.from(block);
      block = '';
    }
  } catch (error) {
    yield Buffer.from(block); // what was read has an outcome
    throw error;
  }
  yield Buffer.from(block);
}

/** Formats a record. One that JSON cannot represent becomes a line that is rejected. */
function lineOf(record: object): string {
  try {
    const text = JSON.stringify(record);
    const lost = /null|\{\}/.test(text) ? firstLoss(record) : undefined;
    return lost === undefined ? text : `${notJson(lost)} in ${text}`;
  } catch (error) {
    return notJson(String(error)); // a BigInt or a circle
  }
}

const notJson = (why: string): string => `not JSON: ${why.replaceAll(/\s+/g, ' ')}`;

/** Returns the first value of a record that JSON would silently replace, as JavaScript writes it. */
function firstLoss(record: object): string | undefined {
  let first: string | undefined;
  JSON.stringify(record, function (this: Record<string, unknown>, key, value) {
    first ??= lossOf(this, key, value);
    return first === undefined ? (value as unknown) : undefined;
  });
  return first;
}

/** Returns a value that JSON would replace by null or {}; undefined if it would not. */
function lossOf(parent: Record<string, unknown>, key: string, value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value);
  if (value === null) return parent[key] instanceof Date ? 'Invalid Date' : undefined;
  if (typeof value === 'object') return isOpaque(value) ? nameOf(value) : undefined;
  const isOmitted = value === undefined || typeof value === 'function' || typeof value === 'symbol';
  return isOmitted && Array.isArray(parent) ? typeof value : undefined;
}

const nameOf = (value: object): string => value.constructor.name || 'object';

/** Whether JSON shows nothing of an object that is not plain, such as a Map. */
const isOpaque = (value: object): boolean =>
  !isPlain(value) && !Array.isArray(value) && Object.keys(value).length === 0;

import { rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileSink, openStdout, openStream, type Sink } from './sink.js';
import { emptyMark, type FileMark } from './checkpoint-file.js';
import { formats, type OutputOptions } from './formats.js';
import { PageSpill } from './spill-file.js';
import {
  publishAgain,
  findTarget,
  refusePartial,
  refuseTarget,
  removeSpills,
  setLeftoversAside,
  spillOf,
  spoolOf,
  type Target,
} from './partial-file.js';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Runtime } from '../runtime.js';
import type { Checkpoint, Output, Encoding, RecordPage } from './output.js';

type World = Pick<Runtime, 'stdout' | 'cwd' | 'env' | 'token' | 'sleep' | 'signal'>;

/**
 * Opens what the records go to; who opens, publishes or aborts. `resume`: goes on from there in
 * the partial that an earlier process left. Throws E-PARTIAL-EXISTS, E-RUN-CHANGED or
 * E-FILE-WRITE.
 */
export async function openOutput(
  options: OutputOptions,
  runtime: World,
  resume?: Checkpoint,
): Promise<Output> {
  const target = await targetOf(options, runtime);
  const encoding = options.encoding ?? (await formats[options.format].load()).encoding(options);
  const spools = encoding.look !== undefined;
  // A document that waits in a spool is written at the end, from its beginning.
  const sink = await openSink(target, {
    options,
    resume: spools ? resume && emptyMark : resume,
    runtime,
  });
  let spool: PageSpill | undefined;
  try {
    spool = spools ? await openSpool(target, runtime, resume) : undefined;
    const output = new DocumentOutput({ sink, encoding, gzip: options.gzip, spool });
    if (resume) await output.restore(resume);
    return output;
  } catch (error) {
    await sink.close();
    await spool?.close();
    throw error;
  }
}

const openSpool = (target: Target, runtime: World, resume?: Checkpoint): Promise<PageSpill> =>
  target.kind === 'file'
    ? PageSpill.open(spoolOf(target), resume, target.option)
    : PageSpill.openNameless(temporaryPath(runtime), target.option);

/** Completes the work of a process that sealed this output and was then ended. */
export async function publishSealed(
  options: OutputOptions,
  { cwd }: Pick<Runtime, 'cwd'>,
  mark: FileMark,
): Promise<void> {
  const target = await targetOf(options, { cwd });
  if (target.kind === 'file') await publishAgain(target, mark, options);
}

/** Removes what processes that were ended left beside a published output. */
export async function tidyOutput(
  options: OutputOptions,
  { cwd }: Pick<Runtime, 'cwd'>,
): Promise<void> {
  const target = await targetOf(options, { cwd });
  if (target.kind !== 'file') return;
  await rm(spoolOf(target), { force: true });
  await removeSpills(target);
}

/** Removes an output that has not got its final name, and what waits beside it. */
export async function discardOutput(
  options: OutputOptions,
  { cwd }: Pick<Runtime, 'cwd'>,
): Promise<void> {
  const target = await targetOf(options, { cwd });
  if (target.kind === 'file') await rm(target.partial, { force: true });
  await tidyOutput(options, { cwd });
}

/** Bytes of the file of that name; undefined when there is none. Throws E-FILE-WRITE for a folder. */
export async function sizeOfOutput(
  name: string | undefined,
  { cwd }: Pick<Runtime, 'cwd'>,
  option: OutputOptions['option'],
): Promise<number | undefined> {
  const target = await findTarget(name, { cwd, option });
  if (target.kind === 'stdout') return undefined;
  const found = await stat(target.path).catch(() => undefined);
  return found?.size;
}

interface SpillPlace {
  /** Of the document that the slice's pages will go to. */
  readonly options: OutputOptions;
  readonly slice: number;
  readonly resumable: boolean;
}

/**
 * Room for the pages of a slice that wait for their turn: beside the file they will go to and,
 * for `resumable` exports, under a name that another process finds again.
 */
export async function openSpill(
  { options, slice, resumable }: SpillPlace,
  runtime: Pick<Runtime, 'cwd' | 'env' | 'token'>,
  resume?: Checkpoint,
): Promise<PageSpill> {
  const { option } = options;
  const target = await targetOf(options, runtime);
  if (target.kind !== 'file') return PageSpill.openNameless(temporaryPath(runtime), option);
  const spill = spillOf(target, slice);
  return resumable ? PageSpill.open(spill, resume, option) : PageSpill.openNameless(spill, option);
}

const targetOf = ({ path, option }: OutputOptions, { cwd }: Pick<Runtime, 'cwd'>) =>
  findTarget(path, { cwd, option });

const temporaryPath = ({ env, token }: Pick<Runtime, 'env' | 'token'>): string =>
  join(env['TMPDIR'] ?? tmpdir(), `engagectl-${token()}.spool`);

/**
 * Clears the way before anything is asked of the service: refuses what exists, or sets it aside
 * where that is wanted. `ownPartials`: those there are will be gone on with. Throws
 * E-OUTPUT-EXISTS, E-PARTIAL-EXISTS, E-FILE-WRITE.
 */
export async function prepareOutputs(
  outputs: readonly OutputOptions[],
  { cwd }: Pick<Runtime, 'cwd'>,
  { ownPartials }: { readonly ownPartials: boolean },
): Promise<void> {
  for (const options of outputs) {
    const target = await targetOf(options, { cwd });
    if (target.kind !== 'file') continue;
    await refuseTarget(target, options.overwrite);
    if (ownPartials) continue;
    if (options.fresh) await setLeftoversAside(target);
    else await refusePartial(target);
  }
}

interface Sinking {
  readonly options: OutputOptions;
  readonly resume: FileMark | undefined;
  readonly runtime: World;
}

function openSink(target: Target, { options, resume, runtime }: Sinking): Promise<Sink> | Sink {
  if (target.kind === 'stdout') return openStdout(runtime.stdout, target.option);
  if (target.kind === 'stream') return openStream(target, runtime);
  return openFileSink(target, { overwrite: options.overwrite, resume });
}

const compress = promisify(gzip);

interface DocumentParts {
  readonly sink: Sink;
  readonly encoding: Encoding;
  readonly gzip: boolean;
  /** Of an encoding that has to see all records before the first is written. */
  readonly spool: PageSpill | undefined;
}

/** One document, written page by page: to its sink or, where it has to wait, to a spool. */
class DocumentOutput implements Output {
  readonly #sink: Sink;
  readonly #encoding: Encoding;
  readonly #gzip: boolean;
  readonly #spool: PageSpill | undefined;
  #records = 0;
  #isSealed = false;
  /** What to say about a file that could not be removed. */
  readonly #left: string[] = [];

  constructor({ sink, encoding, gzip, spool }: DocumentParts) {
    this.#sink = sink;
    this.#encoding = encoding;
    this.#gzip = gzip;
    this.#spool = spool;
  }

  get name(): string {
    return this.#sink.name;
  }
  get rewindable(): boolean {
    return this.#spool !== undefined || this.#sink.rewindable;
  }
  get bytes(): number {
    return this.#mark.bytes;
  }
  get warnings(): readonly string[] {
    return [...(this.#encoding.warnings?.() ?? []), ...this.#left];
  }

  async writePage(page: RecordPage): Promise<void> {
    if (page.count === 0) return;
    const isFirst = this.#records === 0;
    if (this.#spool) {
      this.#encoding.look?.(page, isFirst);
      await this.#spool.writePage(page);
    } else await this.#write(this.#encoding.page(page, isFirst));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    return { ...this.#mark, records: this.#records, ...this.#encoding.known?.() };
  }

  async rewind(checkpoint: Checkpoint): Promise<void> {
    if (this.#spool) await this.#spool.rewind(checkpoint);
    else await this.#sink.file.truncate(checkpoint);
    await this.restore(checkpoint);
  }

  /** Goes on with what stands there since an earlier process, or before what was taken back. */
  async restore(checkpoint: Checkpoint): Promise<void> {
    this.#records = checkpoint.records;
    this.#encoding.restore?.(checkpoint);
    for await (const [page, isFirst] of this.#spooled()) this.#encoding.look?.(page, isFirst);
  }

  sync(): Promise<void> {
    return (this.#spool ?? this.#sink.file).sync();
  }

  async seal(): Promise<FileMark> {
    this.#isSealed = true;
    const encoding = this.#encoding;
    for await (const [page, isFirst] of this.#spooled())
      await this.#write(encoding.page(page, isFirst));
    const last = encoding.end?.(this.#records === 0);
    if (last?.length) await this.#write(last);
    // A .gz without any member would be no gzip file.
    if (this.bytes === 0) await this.#write(Buffer.alloc(0));
    await this.#sink.file.sync();
    return this.#sink.file.mark;
  }

  async publish(): Promise<void> {
    await this.#sink.publish();
    const left = await this.#spool?.discard();
    if (left !== undefined) this.#left.push(left);
  }

  async abort(): Promise<void> {
    this.#isSealed = true;
    await this.#sink.close();
    await this.#spool?.close();
  }

  /** Where the document stands: in the spool until it is sealed. */
  get #mark(): FileMark {
    return this.#spool && !this.#isSealed ? this.#spool.mark : this.#sink.file.mark;
  }

  async *#spooled(): AsyncGenerator<[page: RecordPage, isFirst: boolean]> {
    let isFirst = true;
    for await (const page of this.#spool?.pages() ?? []) {
      yield [page, isFirst];
      isFirst = false;
    }
  }

  /** Each write is a gzip member of its own: cut back to a commit, the file is still valid. */
  async #write(bytes: Buffer): Promise<void> {
    await this.#sink.file.write(this.#gzip ? await compress(bytes) : bytes);
  }
}

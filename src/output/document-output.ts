import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileSink, openStdout, openStream, type Sink } from './sink.js';
import { emptyFileCheckpoint, removeFile, type FileCheckpoint } from './checkpoint-file.js';
import { outputFormats, type OutputOptions } from './formats.js';
import { SpillFile } from './spill-file.js';
import {
  resumePublish,
  resolveTarget,
  refusePartial,
  refuseExisting,
  removeSpills,
  movePartialsAside,
  spillPath,
  spoolPath,
  type Target,
  type FileTarget,
} from './partial-file.js';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { refuseForeignFile } from '../files/path-checks.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import type { Checkpoint, Output, RecordEncoder, RecordPage } from './output.js';

type OutputPlace = Pick<Runtime, 'cwd' | 'uid'>;
type OutputRuntime = OutputPlace & Pick<Runtime, 'stdout' | 'env' | 'token' | 'sleep' | 'signal'>;

/**
 * Opens a document; the caller publishes or aborts it. `resume` continues the partial file of an
 * earlier process from that checkpoint. Throws E-PARTIAL-EXISTS, E-RUN-CHANGED or E-FILE-WRITE.
 */
export async function openOutput(
  options: OutputOptions,
  runtime: OutputRuntime,
  resume?: Checkpoint,
): Promise<Output> {
  const target = await targetOf(options, runtime);
  const encoder = options.encoder ?? (await outputFormats[options.format].load()).encoder(options);
  const spools = encoder.look !== undefined;
  // A spooled document is written from its start when it is sealed.
  const sink = await openSink(target, {
    options,
    resume: spools ? resume && emptyFileCheckpoint : resume,
    runtime,
  });
  let spool: SpillFile | undefined;
  try {
    spool = spools ? await openSpool(target, runtime, resume) : undefined;
    const output = new DocumentOutput({ sink, encoder, gzip: options.gzip, spool });
    if (resume) await output.restore(resume);
    return output;
  } catch (error) {
    await sink.close();
    await spool?.close();
    throw error;
  }
}

const openSpool = (
  target: Target,
  runtime: OutputRuntime,
  resume?: Checkpoint,
): Promise<SpillFile> =>
  target.kind === 'file'
    ? SpillFile.open(spoolPath(target), resume, target)
    : SpillFile.openNameless(temporaryPath(runtime), target.option);

/** Publishes an output that an earlier process sealed before it was killed. */
export async function publishSealed(
  options: OutputOptions,
  runtime: OutputPlace,
  mark: FileCheckpoint,
): Promise<void> {
  const target = await targetOf(options, runtime);
  if (target.kind === 'file') await resumePublish(target, mark, options);
}

/** Removes temporary files that killed processes left beside a published output. */
export async function cleanUpOutput(options: OutputOptions, runtime: OutputPlace): Promise<void> {
  const target = await targetOf(options, runtime);
  if (target.kind !== 'file') return;
  await removeFile(spoolPath(target), target.option);
  await removeSpills(target);
}

/** Removes an unpublished output and its temporary files. */
export async function discardOutput(options: OutputOptions, runtime: OutputPlace): Promise<void> {
  const target = await targetOf(options, runtime);
  if (target.kind === 'file') await removeFile(target.partial, target.option);
  await cleanUpOutput(options, runtime);
}

/**
 * Returns the size of the file in bytes; undefined if it does not exist. Throws E-FILE-WRITE for a folder, and for a
 * file that another user may have put there.
 */
export async function outputSize(
  name: string | undefined,
  { cwd, uid }: Pick<Runtime, 'cwd' | 'uid'>,
  option: OutputOptions['option'],
): Promise<number | undefined> {
  const target = await resolveTarget(name, { cwd, uid, option });
  if (target.kind === 'stdout') return undefined;
  const found = await stat(target.path).catch(() => undefined);
  if (!found) return undefined;
  const place = { name: target.name, what: 'the file', option: option('output', '<file>') };
  refuseForeignFile(target.path, found.uid, place, { uid });
  return found.size;
}

interface SpillPlace {
  /** Options of the slice's document. */
  readonly options: OutputOptions;
  readonly slice: number;
  readonly resumable: boolean;
}

/**
 * Opens a spill file for the pages of a slice, beside the document. Resumable exports give it a
 * name that another process finds.
 */
export async function openSpill(
  { options, slice, resumable }: SpillPlace,
  runtime: OutputPlace & Pick<Runtime, 'env' | 'token'>,
  resume?: Checkpoint,
): Promise<SpillFile> {
  const { option } = options;
  const target = await targetOf(options, runtime);
  if (target.kind !== 'file') return SpillFile.openNameless(temporaryPath(runtime), option);
  const spill = spillPath(target, slice);
  return resumable ? SpillFile.open(spill, resume, target) : SpillFile.openNameless(spill, option);
}

const targetOf = ({ path, option }: OutputOptions, { cwd, uid }: OutputPlace) =>
  resolveTarget(path, { cwd, uid, option });

const temporaryPath = ({ env, token }: Pick<Runtime, 'env' | 'token'>): string =>
  join(env['TMPDIR'] ?? tmpdir(), `engagectl-${token()}.spool`);

/**
 * Checks the targets before the first request: refuses existing files, or sets them aside with
 * `fresh`. `ownPartials`: existing partial files belong to this run. Throws E-OUTPUT-EXISTS,
 * E-PARTIAL-EXISTS, E-FILE-WRITE, and E-USAGE if two names lead to one file.
 */
export async function prepareOutputs(
  outputs: readonly OutputOptions[],
  runtime: OutputPlace,
  { ownPartials }: { readonly ownPartials: boolean },
): Promise<void> {
  const targets = await refuseTargets(outputs, runtime);
  if (ownPartials) return;
  for (const [options, target] of targets) {
    if (options.fresh) await movePartialsAside(target);
    else await refusePartial(target);
  }
}

/**
 * Refuses targets without changing anything, and returns those that are files. Throws E-OUTPUT-EXISTS, E-FILE-WRITE, and E-USAGE if two
 * names lead to one file.
 */
export async function refuseTargets(
  outputs: readonly OutputOptions[],
  runtime: OutputPlace,
): Promise<Map<OutputOptions, FileTarget>> {
  const targets = new Map<OutputOptions, FileTarget>();
  const names = new Map<string, string>();
  for (const options of outputs) {
    const target = await targetOf(options, runtime);
    if (target.kind !== 'file') continue;
    const { name, path, partial, option } = target;
    const other = names.get(path) ?? names.get(partial);
    if (other !== undefined) {
      throw new EngagectlError('E-USAGE', `${other} and ${name} need the same file`, {
        why: 'one part of the export would replace the other',
        fix: `remove the link, or choose another ${option('output')}`,
        file: name,
      });
    }
    names.set(path, name).set(partial, name);
    await refuseExisting(target, options.overwrite);
    targets.set(options, target);
  }
  return targets;
}

interface Sinking {
  readonly options: OutputOptions;
  readonly resume: FileCheckpoint | undefined;
  readonly runtime: OutputRuntime;
}

function openSink(target: Target, { options, resume, runtime }: Sinking): Promise<Sink> | Sink {
  const isJson = !outputFormats[options.format].isTable;
  if (target.kind === 'stdout') return openStdout(runtime.stdout, target.option, isJson);
  if (target.kind === 'stream')
    return openStream(target, { sleep: runtime.sleep, signal: runtime.signal, isJson });
  return openFileSink(target, { overwrite: options.overwrite, resume });
}

const compress = promisify(gzip);

interface DocumentParts {
  readonly sink: Sink;
  readonly encoder: RecordEncoder;
  readonly gzip: boolean;
  /** Buffer on disk for encoders that must see all records before they write the first. */
  readonly spool: SpillFile | undefined;
}

/** One document, written page by page to its sink, or to a spool until it is sealed. */
class DocumentOutput implements Output {
  readonly #sink: Sink;
  readonly #encoder: RecordEncoder;
  readonly #gzip: boolean;
  readonly #spool: SpillFile | undefined;
  #records = 0;
  #isSealed = false;
  /** Warnings about files that could not be removed. */
  readonly #left: string[] = [];

  constructor({ sink, encoder, gzip, spool }: DocumentParts) {
    this.#sink = sink;
    this.#encoder = encoder;
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
    return [...(this.#encoder.warnings?.() ?? []), ...this.#left];
  }

  async writePage(page: RecordPage): Promise<void> {
    if (page.count === 0) return;
    const isFirst = this.#records === 0;
    if (this.#spool) {
      this.#encoder.look?.(page, isFirst);
      await this.#spool.writePage(page);
    } else await this.#write(this.#encoder.page(page, isFirst));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    return { ...this.#mark, records: this.#records, ...this.#encoder.known?.() };
  }

  async rewind(checkpoint: Checkpoint): Promise<void> {
    if (this.#spool) await this.#spool.rewind(checkpoint);
    else await this.#sink.file.truncate(checkpoint);
    await this.restore(checkpoint);
  }

  /** Restores the state of the encoder at a checkpoint. */
  async restore(checkpoint: Checkpoint): Promise<void> {
    this.#records = checkpoint.records;
    this.#encoder.restore?.(checkpoint);
    for await (const [page, isFirst] of this.#spooled()) this.#encoder.look?.(page, isFirst);
  }

  sync(): Promise<void> {
    return (this.#spool ?? this.#sink.file).sync();
  }

  async seal(): Promise<FileCheckpoint> {
    this.#isSealed = true;
    const encoder = this.#encoder;
    for await (const [page, isFirst] of this.#spooled())
      await this.#write(encoder.page(page, isFirst));
    const last = encoder.end?.(this.#records === 0);
    if (last?.length) await this.#write(last);
    // A .gz file needs at least one member.
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

  /** Mark of the spool until the document is sealed, then of the sink. */
  get #mark(): FileCheckpoint {
    return this.#spool && !this.#isSealed ? this.#spool.mark : this.#sink.file.mark;
  }

  async *#spooled(): AsyncGenerator<[page: RecordPage, isFirst: boolean]> {
    let isFirst = true;
    for await (const page of this.#spool?.pages() ?? []) {
      yield [page, isFirst];
      isFirst = false;
    }
  }

  /** Writes each block as its own gzip member: truncated to a commit, the file is still valid. */
  async #write(bytes: Buffer): Promise<void> {
    await this.#sink.file.write(this.#gzip ? await compress(bytes) : bytes);
  }
}

import { type InputFormat } from '../contract/file-formats.js';
import { CsvProgram, type CsvDialect } from '../text/csv-scanner.js';
import { splitBlocks } from './record-splitter.js';
import { checkEncoding } from './encoding.js';
import { openInput, type OpenInput } from './open-input.js';
import { inputChangedError, DigestTable } from './text-digest.js';
import {
  matchKnownText,
  startsWith,
  resumePipe,
  skipVerified,
  verifyDigest,
  type KnownTexts,
  type MatchedText,
} from './digest-check.js';
import { SourceList } from './source.js';
import type { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import type { InputOptions } from './input-format.js';
import type { Position, RowBlock, TextDigest } from './row-block.js';

export { type InputOptions } from './input-format.js';

/** Of inputs behind each other that have the same one. */
export interface TableHeader extends Table {
  /** The first of them, and how many they are. */
  readonly source: string;
  readonly inputs: number;
}

/** All inputs of a command, read one after the other. */
export interface Inputs {
  /** Of every CSV, TSV and list. */
  readonly headers: readonly TableHeader[];
  /** Bytes on disk; undefined when one of the inputs is a pipe. */
  readonly totalBytes: number | undefined;
  /** The first input as the user named it; `stdin` for standard input. */
  readonly first: string;
  /** Bytes on disk read so far; of the first so many records, where that is asked for. */
  bytesRead(records?: number): number;
  /**
   * All rows from a place on, once. Throws EngagectlError: E-FILE-READ when a source fails
   * half-way (rows before that are given out), E-INPUT-CHANGED when a file is not what it was.
   */
  blocks(from?: Position): AsyncGenerator<RowBlock>;
  /** Of the text read since the last call, per input. Only with the option `digests`. */
  takeDigests(): readonly TextDigest[];
  /** Reads the text that an earlier process read. Throws E-INPUT-CHANGED when it is another. */
  verify(digests: Iterable<TextDigest>): Promise<void>;
  /** Of the inputs that were read to their end. Only with the option `digests`. */
  readonly ended: DigestTable;
  /** How many inputs there are, and the name of each. */
  readonly names: readonly string[];
  /**
   * Of a pipe: gives up the text before a place, if one is named. The text up to where an earlier
   * process read has to be the same. Throws E-INPUT-CHANGED.
   */
  passOver(from: Position | undefined, digest: TextDigest): Promise<void>;
  /** Whether a pipe begins as a text does; of a long one its first bytes tell. */
  beginsLike(text: TextDigest): Promise<boolean>;
  /** Which of these texts the input is, or begins with. Reads it, so it must be no pipe. */
  match(input: number, texts: KnownTexts): Promise<MatchedText | undefined>;
  readonly guessed: DetectedFormat | undefined;
  /** What is to be said of the files that were read to their end. */
  readonly warnings: readonly string[];
  /** Ends reading at once, also while standard input is waited for. */
  close(): Promise<void>;
}

/**
 * Opens all inputs and checks the start of each, so that a missing file or a bad header is an
 * error before the first row goes anywhere. Throws EngagectlError: E-FILE-READ, E-HEADER…,
 * E-FORMAT, E-USAGE; the signal's reason when it is aborted meanwhile.
 */
export async function openInputs(
  options: InputOptions,
  { stdin, cwd, signal }: Pick<Runtime, 'stdin' | 'cwd' | 'signal'>,
): Promise<Inputs> {
  checkEncoding(options.encoding);
  const names = options.files.length === 0 ? ['-'] : options.files;
  const sources = new SourceList(names, { stdin, cwd });
  const csv = new CsvProgram();
  const { digests = false } = options;
  const checked = await checkInputs(sources, options, { csv, signal, digests });
  return new SequentialInputs(sources, checked, { options, csv });
}

class SequentialInputs implements Inputs {
  readonly ended: DigestTable;
  readonly warnings: string[] = [];
  readonly #sources: SourceList;
  readonly #checked: CheckedInputs;
  readonly #options: InputOptions;
  readonly #csv: CsvProgram;
  #current: OpenInput | undefined;
  #isClosed = false;
  #bytesBefore = 0;
  /** Of all inputs, in the blocks that were given out or before them. */
  #records = 0;
  /** Inputs that were read to their end since digests were taken. */
  #endedSince: number[] = [];
  /** Where a pipe goes on. */
  #pipeStart: Position | undefined;

  constructor(
    sources: SourceList,
    checked: CheckedInputs,
    { options, csv }: { readonly options: InputOptions; readonly csv: CsvProgram },
  ) {
    this.#sources = sources;
    this.ended = new DigestTable(sources.names.length);
    this.#checked = checked;
    this.#options = options;
    this.#csv = csv;
  }

  get names(): readonly string[] {
    return this.#sources.names;
  }

  get first(): string {
    return this.names[0]!;
  }

  get totalBytes(): number | undefined {
    return this.#sources.totalBytes;
  }

  get guessed(): DetectedFormat | undefined {
    return this.#checked.guessed;
  }

  get headers(): Inputs['headers'] {
    const headers: (TableHeader & { inputs: number })[] = [];
    let before: Table | undefined;
    for (const [input, source] of this.names.entries()) {
      const table = this.#checked.tableOf(input);
      if (table && table === before) headers.at(-1)!.inputs += 1;
      else if (table) headers.push({ source, inputs: 1, ...table });
      before = table;
    }
    return headers;
  }

  bytesRead(records = this.#records): number {
    const bytes = this.#bytesBefore + (this.#current?.bytesRead() ?? 0);
    return records < this.#records ? Math.round((bytes * records) / this.#records) : bytes;
  }

  async *blocks(from: Position = startPosition): AsyncGenerator<RowBlock> {
    try {
      let start = from;
      for (let { input } = from; input < this.names.length; input += 1) {
        const open = await this.#open(input, start);
        this.#current = open;
        if (this.#isClosed) return; // meanwhile, by who did not wait for this input
        const { header } = this.#checked.tableOf(input) ?? {};
        if (!isSame(open.cutter.header, header)) throw changed(open.source);
        let { start: end } = open;
        for await (const block of splitBlocks(open)) {
          ({ end } = block);
          this.#records = end.ordinal;
          yield block;
        }
        if (open.wasReplaced()) this.warnings.push(replaced(open.source));
        this.#bytesBefore += open.bytesRead();
        this.#noteEnd(open, end);
        this.#current = undefined;
        open.close();
        start = { ...startPosition, input: input + 1, ordinal: end.ordinal };
      }
    } finally {
      await this.close();
    }
  }

  async #open(input: number, start: Position): Promise<OpenInput> {
    const piped = this.#checked.open.get(input);
    if (piped) return resumePipe(piped, this.#pipeStart);
    const { digests = false } = this.#options;
    return openInput(this.#sources.at(input), this.#options, start, { csv: this.#csv, digests });
  }

  takeDigests(): readonly TextDigest[] {
    const ended = this.#endedSince.splice(0).flatMap((input) => this.ended.get(input) ?? []);
    const current = this.#current && digestOf(this.#current);
    return current ? [...ended, current] : ended;
  }

  /** As numbers: there may be many thousands. */
  #noteEnd(open: OpenInput, end: Position): void {
    const digest = digestOf(open);
    if (!digest) return;
    this.ended.set({ ...digest, ended: { end, head: open.text!.head } });
    this.#endedSince.push(end.input);
  }

  async match(input: number, texts: KnownTexts): Promise<MatchedText | undefined> {
    return matchKnownText(this.#sources.at(input), texts, this.#options);
  }

  async passOver(from: Position | undefined, digest: TextDigest): Promise<void> {
    await skipVerified(this.#checked.open.get(0)!, { name: this.first, from, digest });
    this.#pipeStart = from;
  }

  async beginsLike(text: TextDigest): Promise<boolean> {
    return startsWith(this.#checked.open.get(0)!, text);
  }

  async verify(digests: Iterable<TextDigest>): Promise<void> {
    for (const digest of digests) {
      await verifyDigest(this.#sources.at(digest.input), digest, this.#options);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const open of this.#checked.open.values()) open.close();
    this.#current?.close();
  }
}

/** Of what was read of it so far; undefined where none is wanted. */
function digestOf({ text, cutter, start: { input } }: OpenInput): TextDigest | undefined {
  if (!text) return undefined;
  const endsInLine = text.endsInLine && cutter.state === undefined;
  return { input, offset: text.length, hash: text.hash, endsInLine };
}

const replaced = (name: string): string =>
  `${name} was deleted or replaced while it was read; what it held before is what was read`;

const changed = (name: string): EngagectlError =>
  inputChangedError(name, 'its header is no longer the one that was checked at the start');

/** Names of the columns, and what stands between and around the cells. */
export interface Table {
  readonly header: readonly string[];
  readonly markers: CsvDialect;
}

/** Inputs whose starts were read. */
interface CheckedInputs {
  /** Of an input; undefined where it is no table. Those of one form are one object. */
  tableOf(input: number): Table | undefined;
  /** Those that can be read only once are still open. */
  readonly open: ReadonlyMap<number, OpenInput>;
  /** The first one whose format only its content tells, and how many others there are. */
  readonly guessed: DetectedFormat | undefined;
}

interface DetectedFormat {
  readonly name: string;
  readonly format: InputFormat;
  readonly others: number;
}

/** Files are closed again, and tables of one form are kept once: there may be many thousands. */
async function checkInputs(
  sources: SourceList,
  options: InputOptions,
  context: { readonly csv: CsvProgram; readonly signal: AbortSignal; readonly digests: boolean },
): Promise<CheckedInputs> {
  const open = new Map<number, OpenInput>();
  const tables: (Table | undefined)[] = [undefined];
  const forms = new Map<string, number>();
  const formOf = new Uint32Array(sources.names.length);
  let first: Omit<DetectedFormat, 'others'> | undefined;
  let guesses = 0;
  try {
    for (const [input, name] of sources.names.entries()) {
      const source = sources.at(input);
      const opened = await openInput(source, options, startPosition, context);
      const { cutter, guessed: format } = opened;
      const table = tableIn(cutter);
      if (table) {
        const form = JSON.stringify(table);
        formOf[input] = forms.get(form) ?? tables.push(table) - 1;
        forms.set(form, formOf[input]);
      }
      if (format) first ??= { name, format };
      if (format) guesses += 1;
      if (source.size === undefined) open.set(input, opened);
      else opened.close();
    }
    const tableOf = (input: number) => tables[formOf[input]!];
    return { tableOf, open, guessed: first && { ...first, others: guesses - 1 } };
  } catch (error) {
    for (const opened of open.values()) opened.close();
    throw error;
  }
}

const tableIn = ({ header, markers }: OpenInput['cutter']): Table | undefined =>
  header && markers && { header, markers };

export const isSame = (header?: readonly string[], other?: readonly string[]): boolean =>
  header?.length === other?.length && (header?.every((name, at) => name === other?.[at]) ?? true);

/** Where the first of all inputs begins. */
const startPosition: Position = { input: 0, offset: 0, line: 1, ordinal: 0 };

import { resolve } from 'node:path';
import { defaultDelimiter, type InputFormat } from '../contract/file-formats.js';
import { CsvProgram, type CsvDialect } from '../text/csv-scanner.js';
import { splitBlocks } from './record-splitter.js';
import { checkEncoding, type InputEncoding } from './encoding.js';
import { openInput, type InputDialect, type OpenInput } from './open-input.js';
import { inputChangedError, DigestTable } from './text-digest.js';
import {
  headOf,
  readHeadOf,
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

/** The header of consecutive inputs with the same header. */
export interface TableHeader extends Table {
  /** Name of the first of these inputs, and their number. */
  readonly source: string;
  readonly inputs: number;
}

/** All inputs of a command, read one after the other. */
export interface Inputs {
  /** Headers of all CSVs, TSVs and lists. */
  readonly headers: readonly TableHeader[];
  /** Bytes on disk; undefined when one of the inputs is a pipe. */
  readonly totalBytes: number | undefined;
  /** The first input as the user named it; `stdin` for standard input. */
  readonly first: string;
  /** Returns the bytes on disk read so far, or read for the first `records` records. */
  bytesRead(records?: number): number;
  /**
   * Yields all rows from a position on; can be called once. Throws EngagectlError E-FILE-READ when a source fails
   * half-way (after yielding the rows before), and E-INPUT-CHANGED when a file has changed.
   */
  blocks(from?: Position): AsyncGenerator<RowBlock>;
  /** Returns digests of the inputs read since the last call. Requires the option `digests`. */
  takeDigests(): readonly TextDigest[];
  /**
   * Reads the text that an earlier process read. Throws E-INPUT-CHANGED if it differs, or if more follows in an input
   * that may not grow.
   */
  verify(digests: Iterable<TextDigest>, mayGrow: (digest: TextDigest) => boolean): Promise<void>;
  /** Digests of the inputs that were read, with `ended` unless they are incomplete. Requires the option `digests`. */
  readonly ended: DigestTable;
  /** Name of each input. */
  readonly names: readonly string[];
  /**
   * Skips the text of a pipe up to `from`, if given, and compares it with the text that an earlier
   * process read. Throws E-INPUT-CHANGED if it differs.
   */
  skipPipe(from: Position | undefined, digest: TextDigest): Promise<void>;
  /**
   * Whether a pipe starts like a text; only the first bytes of a long text are compared. While the pipe is being read,
   * `ifUnread` (default: false) is returned if too little of it was read to tell.
   */
  startsLike(text: TextDigest, ifUnread?: boolean): Promise<boolean>;
  /** Finds the text that the input equals or starts with. Reads the input, so it must not be a pipe. */
  match(input: number, texts: KnownTexts): Promise<MatchedText | undefined>;
  /** Returns what differs once a file is changed or replaced, for each input; see SourceList. */
  stamps(): readonly (string | undefined)[];
  /** Returns the length and digests of the beginning of an input; of a pipe, of what was read of it. */
  head(input: number): ReturnType<typeof headOf>;
  readonly detected: DetectedFormat | undefined;
  /** Rows skipped so far because all their cells are empty. */
  readonly emptyRows: number;
  /** How the first input is read. */
  readonly dialect: InputDialect;
  /** Notes about delimiters, encodings and header rows that were detected. */
  readonly notes: readonly string[];
  /** Warnings about the files that were read to their end. */
  readonly warnings: readonly string[];
  /** Stops reading at once, even while waiting for standard input. */
  close(): Promise<void>;
}

/**
 * Opens all inputs and checks the start of each, so that a missing file or a bad header is reported
 * before the first row is processed. Throws EngagectlError E-FILE-READ, E-HEADER…,
 * E-FORMAT, E-USAGE, or the signal's reason if it is aborted.
 */
export async function openInputs(
  options: InputOptions,
  { stdin, cwd, signal }: Pick<Runtime, 'stdin' | 'cwd' | 'signal'>,
): Promise<Inputs> {
  checkEncoding(options.encoding);
  const names = options.files.length === 0 ? ['-'] : options.files;
  const { pathOf = (file: string) => resolve(cwd, file) } = options;
  const sources = new SourceList(names, { stdin, cwd, pathOf });
  const csv = new CsvProgram();
  const { digests = false } = options;
  const checked = await checkInputs(sources, options, { csv, signal, digests });
  return new SequentialInputs(sources, checked, { options, csv });
}

class SequentialInputs implements Inputs {
  readonly ended: DigestTable;
  readonly warnings: string[] = [];
  emptyRows = 0;
  readonly #sources: SourceList;
  readonly #checked: CheckedInputs;
  readonly #options: InputOptions;
  readonly #csv: CsvProgram;
  #current: OpenInput | undefined;
  #isClosed = false;
  #bytesBefore = 0;
  /** Records of all inputs up to the end of the last block. */
  #records = 0;
  /** Inputs that were read to their end since the last `takeDigests`. */
  #endedSince: number[] = [];
  /** Position from which a pipe is read. */
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

  get dialect(): InputDialect {
    return this.#checked.dialect;
  }

  get notes(): readonly string[] {
    return this.#checked.notes;
  }

  get detected(): DetectedFormat | undefined {
    return this.#checked.detected;
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
        if (this.#isClosed) return; // closed while this input was being opened
        const { header } = this.#checked.tableOf(input) ?? {};
        if (!isSameHeader(open.cutter.header, header)) throw headerChanged(open.source);
        let { start: end } = open;
        let isComplete = true;
        for await (const block of splitBlocks(open)) {
          ({ end } = block);
          this.emptyRows += block.emptyRows ?? 0;
          this.#records = end.ordinal;
          isComplete = block.heldBack === undefined;
          yield block;
        }
        if (open.wasReplaced()) this.warnings.push(replaced(open.source));
        if (isComplete && this.#mayBeCut(open)) this.warnings.push(cutOff(open.source));
        this.#bytesBefore += open.bytesRead();
        this.#noteEnd(open, isComplete ? end : undefined);
        this.#current = undefined;
        open.close();
        start = { ...startPosition, input: input + 1, ordinal: end.ordinal };
      }
    } finally {
      await this.close();
    }
  }

  /** Whether the last cell of a pipe may lack its end, because its producer was interrupted. */
  #mayBeCut({ window, cutter, holdBack }: OpenInput): boolean {
    const isPiped = this.totalBytes === undefined;
    return isPiped && holdBack !== undefined && cutter.markers !== undefined && window.endsInLine;
  }

  async #open(input: number, start: Position): Promise<OpenInput> {
    const piped = this.#checked.open.get(input);
    if (piped) return resumePipe(piped, this.#pipeStart);
    const { digests = false } = this.#options;
    const { encoding } = this.#encodingOf(input);
    const context = { csv: this.#csv, digests, encoding };
    return openInput(this.#sources.at(input), this.#options, start, context);
  }

  takeDigests(): readonly TextDigest[] {
    const ended = this.#endedSince.splice(0).flatMap((input) => this.ended.get(input) ?? []);
    const current = this.#current && digestOf(this.#current);
    return current ? [...ended, current] : ended;
  }

  /** Records the digest of an input that was read; `end` is undefined if it ends in the middle of a record. */
  #noteEnd(open: OpenInput, end: Position | undefined): void {
    const digest = digestOf(open);
    if (!digest) return;
    this.ended.set(end ? { ...digest, ended: { end, head: open.text!.head } } : digest);
    this.#endedSince.push(digest.input);
  }

  async match(input: number, texts: KnownTexts): Promise<MatchedText | undefined> {
    return matchKnownText(this.#sources.at(input), texts, this.#encodingOf(input));
  }

  stamps(): readonly (string | undefined)[] {
    return this.names.map((_, input) => this.#sources.stampOf(input));
  }

  async head(input: number): ReturnType<typeof headOf> {
    const piped = this.#checked.open.get(input);
    if (piped) return readHeadOf(piped);
    return headOf(this.#sources.at(input), this.#encodingOf(input));
  }

  async skipPipe(from: Position | undefined, digest: TextDigest): Promise<void> {
    await skipVerified(this.#checked.open.get(0)!, { name: this.first, from, digest });
    this.#pipeStart = from;
  }

  async startsLike(text: TextDigest, ifUnread = false): Promise<boolean> {
    const isBeingRead = this.#current !== undefined;
    return startsWith(this.#checked.open.get(0)!, text, { isBeingRead, ifUnread });
  }

  async verify(
    digests: Iterable<TextDigest>,
    mayGrow: (digest: TextDigest) => boolean,
  ): Promise<void> {
    for (const digest of digests) {
      const { input } = digest;
      const options = { mayGrow: mayGrow(digest) };
      await verifyDigest(this.#sources.at(input), digest, this.#encodingOf(input), options);
    }
  }

  #encodingOf(input: number): InputEncoding {
    const encoding = this.#checked.encodings.get(input) ?? 'utf-8';
    return { encoding, isDetected: this.#options.encoding === undefined };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const open of this.#checked.open.values()) open.close();
    this.#current?.close();
  }
}

/**
 * Returns the digest of what was read so far; undefined if digests are off. It does not cover an
 * incomplete last line, unless records of that line were read.
 */
function digestOf({ text, window, cutter, start }: OpenInput): TextDigest | undefined {
  if (!text) return undefined;
  const { input } = start;
  const isConsumed = window.bytes.length === 0;
  const { length, hash } = isConsumed || text.lines.length < window.offset ? text : text.lines;
  const endsInLine = isConsumed && window.endsInLine && cutter.state === undefined;
  return { input, offset: length, hash, endsInLine };
}

const cutOff = (name: string): string =>
  `${name} has no line end at its end: if the program that writes it was interrupted, its last value is cut off`;

const replaced = (name: string): string =>
  `${name} was deleted or replaced while it was being read; its earlier content was read`;

const headerChanged = (name: string): EngagectlError =>
  inputChangedError(name, 'its header has changed since it was checked at the start');

/** Column names and CSV dialect of an input. */
export interface Table {
  readonly header: readonly string[];
  readonly markers: CsvDialect;
}

/** Inputs whose starts were read and checked. */
interface CheckedInputs {
  /** Returns the table of an input; undefined for JSON. Equal tables are one object. */
  tableOf(input: number): Table | undefined;
  /** Inputs that can be read only once, which stay open. */
  readonly open: ReadonlyMap<number, OpenInput>;
  /** First input whose format was detected from its content, and the number of others. */
  readonly detected: DetectedFormat | undefined;
  readonly dialect: InputDialect;
  readonly notes: readonly string[];
  /** Encodings other than UTF-8. */
  readonly encodings: ReadonlyMap<number, string>;
}

interface DetectedFormat {
  readonly name: string;
  readonly format: InputFormat;
  readonly others: number;
}

/** Checks the start of each input. Closes files again and shares equal tables, because there may be many thousands. */
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
  let detections = 0;
  let firstDialect: InputDialect | undefined;
  const encodings = new Map<number, string>();
  const notes = new Map<string, string[]>();
  try {
    for (const [input, name] of sources.names.entries()) {
      const source = sources.at(input);
      const opened = await openInput(source, options, startPosition, context);
      const { cutter, detected: format, dialect } = opened;
      firstDialect ??= dialect;
      if (dialect.encoding !== 'utf-8') encodings.set(input, dialect.encoding);
      const note = noteOf(dialect, options);
      if (note !== '') notes.set(note, [...(notes.get(note) ?? []), name]);
      const table = tableIn(cutter);
      if (table) {
        const form = JSON.stringify(table);
        formOf[input] = forms.get(form) ?? tables.push(table) - 1;
        forms.set(form, formOf[input]);
      }
      if (format) first ??= { name, format };
      if (format) detections += 1;
      if (source.size === undefined) open.set(input, opened);
      else opened.close();
    }
    const tableOf = (input: number) => tables[formOf[input]!];
    const allNotes = Array.from(notes, ([note, [file, ...more]]) =>
      more.length === 0 ? `${file}: ${note}` : `${file} and ${more.length} more: ${note}`,
    );
    const facts = { dialect: firstDialect!, notes: allNotes, encodings };
    return { tableOf, open, ...facts, detected: first && { ...first, others: detections - 1 } };
  } catch (error) {
    for (const opened of open.values()) opened.close();
    throw error;
  }
}

/** Describes what was detected and is not the default, with the flags that override it; empty if there is nothing. */
function noteOf(
  { format, delimiter, encoding, headerLine, skippedLines }: InputDialect,
  options: InputOptions,
): string {
  const found: [text: string, flag: string][] = [];
  if (
    options.delimiter === undefined &&
    delimiter !== null &&
    delimiter !== defaultDelimiter(format)
  )
    found.push([`delimiter ${JSON.stringify(delimiter)}`, '--delimiter']);
  if (options.encoding === undefined && encoding !== 'utf-8')
    found.push([`encoding ${encoding}`, '--encoding']);
  if (options.skipLines === undefined && skippedLines > 0)
    found.push([`header on line ${headerLine}`, '--skip-lines']);
  if (found.length === 0) return '';
  const flags = found.map(([, flag]) => flag).join(', ');
  return `detected ${found.map(([text]) => text).join(', ')} (override with ${flags})`;
}

const tableIn = ({ header, markers }: OpenInput['cutter']): Table | undefined =>
  header && markers && { header, markers };

const isSameHeader = (header?: readonly string[], other?: readonly string[]): boolean =>
  header?.length === other?.length && (header?.every((name, at) => name === other?.[at]) ?? true);

/** Start of the first input. */
const startPosition: Position = { input: 0, offset: 0, line: 1, ordinal: 0 };

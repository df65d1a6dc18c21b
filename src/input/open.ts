import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { CsvProgram } from '../text/csv-program.js';
import { readBlocks } from './blocks.js';
import { checkInputs, inputsStart, isSame, type CheckedInput, type Table } from './check-inputs.js';
import { checkEncoding } from './decode.js';
import { openInput, type OpenInput } from './open-input.js';
import type { InputOptions } from './options.js';
import { changedInput } from './changed-input.js';
import { matchText, type KnownTexts, type MatchedText } from './match-text.js';
import type { InputFormat, Position, RowBlock, TextDigest } from './rows.js';
import { beginsLike, goOn, passOver } from './pipe-text.js';
import { verifyText } from './verify-text.js';
import { sourcesOf } from './sources-of.js';

export type { InputOptions } from './options.js';

export interface TableHeader extends Table {
  readonly source: string;
}

/** All inputs of a command, read one after the other. */
export interface Inputs {
  /** Of every CSV, TSV and list. */
  readonly headers: readonly TableHeader[];
  /** Bytes on disk; undefined when one of the inputs is a pipe. */
  readonly totalBytes: number | undefined;
  /** The first input as the user named it; `stdin` for standard input. */
  readonly first: string;
  /** Bytes on disk read so far. */
  bytesRead(): number;
  /**
   * All rows from a place on, once. Throws EngagectlError: E-FILE-READ when a source fails
   * half-way (rows before that are given out), E-INPUT-CHANGED when a file is not what it was.
   */
  blocks(from?: Position): AsyncGenerator<RowBlock>;
  /** Of the text read since the last call, per input. Only with the option `digests`. */
  takeDigests(): readonly TextDigest[];
  /** Reads the text that an earlier process read. Throws E-INPUT-CHANGED when it is another. */
  verify(digests: readonly TextDigest[]): Promise<void>;
  /** Of the inputs that were read to their end. Only with the option `digests`. */
  readonly ended: readonly TextDigest[];
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
  /** Those whose format only their content tells. */
  readonly guessed: readonly { readonly name: string; readonly format: InputFormat }[];
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
  if (names.indexOf('-') !== names.lastIndexOf('-')) throw stdinTwice();
  const sources = sourcesOf(names, { stdin, cwd });
  const csv = new CsvProgram();
  const { digests = false } = options;
  const checked = await checkInputs(sources, options, { csv, signal, digests });
  return new SequentialInputs(checked, options, csv);
}

class SequentialInputs implements Inputs {
  readonly totalBytes: number | undefined;
  readonly first: string;
  readonly ended: TextDigest[] = [];
  readonly warnings: string[] = [];
  readonly #inputs: readonly CheckedInput[];
  readonly #options: InputOptions;
  readonly #csv: CsvProgram;
  readonly #digests: boolean;
  #current: OpenInput | undefined;
  #isClosed = false;
  #bytesBefore = 0;
  #taken: TextDigest[] = [];
  /** Where a pipe goes on. */
  #pipeStart: Position | undefined;

  constructor(inputs: readonly CheckedInput[], options: InputOptions, csv: CsvProgram) {
    this.#csv = csv;
    this.#inputs = inputs;
    this.#options = options;
    this.first = inputs[0]!.source.name;
    this.totalBytes = total(inputs.map(({ source }) => source.size));
    this.#digests = options.digests === true;
  }

  get headers(): Inputs['headers'] {
    return this.#inputs.flatMap(({ source, table }) =>
      table ? [{ source: source.name, ...table }] : [],
    );
  }

  get guessed(): Inputs['guessed'] {
    return this.#inputs.flatMap(({ source: { name }, guessed: format }) =>
      format ? [{ name, format }] : [],
    );
  }

  bytesRead(): number {
    return this.#bytesBefore + (this.#current?.bytesRead() ?? 0);
  }

  async *blocks(from: Position = inputsStart): AsyncGenerator<RowBlock> {
    try {
      let start = from;
      for (const input of this.#inputs.slice(from.input)) {
        const context = { csv: this.#csv, digests: this.#digests };
        const open = input.open
          ? goOn(input.open, this.#pipeStart)
          : await openInput(input.source, this.#options, start, context);
        this.#current = open;
        if (this.#isClosed) return; // meanwhile, by who did not wait for this input
        if (!isSame(open.cutter.header, input.table?.header)) throw changed(input);
        let { start: end } = open;
        for await (const block of readBlocks(open)) {
          ({ end } = block);
          yield block;
        }
        if (open.wasReplaced()) this.warnings.push(replaced(input));
        this.#bytesBefore += open.bytesRead();
        this.#noteDigest(end);
        this.#current = undefined;
        open.close();
        start = { ...inputsStart, input: start.input + 1, ordinal: end.ordinal };
      }
    } finally {
      await this.close();
    }
  }

  takeDigests(): readonly TextDigest[] {
    this.#noteDigest();
    return this.#taken.splice(0);
  }

  /** Of what was read of the current input so far; `end` is behind its last record. */
  #noteDigest(end?: Position): void {
    if (!this.#current) return;
    const { text, cutter, start } = this.#current;
    if (!text) return;
    const { length, hash } = text;
    const endsInLine = text.endsInLine && cutter.state === undefined;
    const { input } = start;
    if (!end) return void this.#taken.push({ input, offset: length, hash, endsInLine });
    // No copy of the one above with a member more: V8 would keep a hidden class for each of many thousands.
    const ended = { end, head: text.head };
    const digest = { input, offset: length, hash, endsInLine, ended };
    this.#taken.push(digest);
    this.ended.push(digest);
  }

  get names(): readonly string[] {
    return this.#inputs.map(({ source }) => source.name);
  }

  async match(input: number, texts: KnownTexts): Promise<MatchedText | undefined> {
    return matchText(this.#inputs[input]!.source, texts, this.#options);
  }

  async passOver(from: Position | undefined, digest: TextDigest): Promise<void> {
    const { source, open } = this.#inputs[0]!;
    await passOver(open!, { name: source.name, from, digest });
    this.#pipeStart = from;
  }

  async beginsLike(text: TextDigest): Promise<boolean> {
    return beginsLike(this.#inputs[0]!.open!, text);
  }

  async verify(digests: readonly TextDigest[]): Promise<void> {
    for (const digest of digests) {
      const { source } = this.#inputs[digest.input]!;
      await verifyText(source, digest, this.#options);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { open } of this.#inputs) open?.close();
    this.#current?.close();
  }
}

function total(sizes: readonly (number | undefined)[]): number | undefined {
  const known = sizes.filter((size) => size !== undefined);
  return known.length < sizes.length ? undefined : known.reduce((sum, size) => sum + size, 0);
}

const replaced = ({ source: { name } }: CheckedInput): string =>
  `${name} was deleted or replaced while it was read; what it held before is what was read`;

const stdinTwice = (): EngagectlError =>
  new EngagectlError('E-USAGE', 'standard input (-) is named twice', {
    why: 'it can be read only once',
    fix: 'name - once',
  });

const changed = ({ source }: CheckedInput): EngagectlError =>
  changedInput(source.name, 'its header is no longer the one that was checked at the start');

import { addAbortSignal } from 'node:stream';
import { openStream } from '../files/read-file.js';
import { decompress } from '../input/decompress.js';
import { JsonArraySplitter } from '../input/json-array-splitter.js';
import { NdjsonSplitter } from '../input/ndjson-splitter.js';
import { splitBlocks } from '../input/record-splitter.js';
import { TextBuffer } from '../input/text-buffer.js';
import { JsonSize } from '../text/json-limits.js';
import { yieldToEventLoop } from './concurrency.js';
import { isArray } from './raw-json.js';
import { RecordError } from './rest/record-validation.js';
import { RestoreError, restoreRecord } from './restore-record.js';
import type { RowBlock } from '../input/row-block.js';
import type { Seed, ServiceContext } from './service.js';

/** Thrown for a seed that cannot be loaded. */
export class SeedError extends Error {
  /** Undefined for a record passed as an object. */
  readonly file: string | undefined;
  /** 1-based line of the file, or position of the record among those passed as objects. */
  readonly line: number;

  /** `cause`: the system error if the file cannot be read. */
  constructor(what: string, { file, line }: Pick<SeedError, 'file' | 'line'>, cause?: unknown) {
    super(`${file ?? 'seed'}:${line}: ${what}`, { cause });
    this.name = 'SeedError';
    this.file = file;
    this.line = line;
  }
}

interface SeedRecord extends Pick<SeedError, 'file' | 'line'> {
  readonly text: string;
}

/** Maximum of a transaction, which blocks the event loop. */
const mostOfBatch = { records: 250, characters: 1024 * 1024 };

/** Maximum bytes of a record in a file, as in other inputs. */
const longestRecord = 1024 * 1024;
/** More than any valid record has. Parsing more would take hundreds of megabytes. */
const mostOfRecord = { depth: 256, values: 100_000 };
/** Maximum characters of a message, which may quote a value. */
const longestMessage = 1000;

/**
 * Loads the seed into a store without users; otherwise returns false. On a SeedError the store stays empty, and when
 * `options.signal` aborts, whose reason is thrown.
 */
export async function loadSeed(service: Omit<ServiceContext, 'loadSeed'>): Promise<boolean> {
  const { store, options } = service;
  const { seed, signal } = options;
  if (!seed || store.get('SELECT 1 FROM profiles LIMIT 1', [])) return false;
  try {
    let batch: SeedRecord[] = [];
    let characters = 0;
    for await (const record of recordsOf(seed, signal)) {
      batch.push(record);
      characters += record.text.length;
      if (batch.length < mostOfBatch.records && characters < mostOfBatch.characters) continue;
      storeBatch(batch, service);
      batch = [];
      characters = 0;
      await yieldToEventLoop();
      signal?.throwIfAborted();
    }
    storeBatch(batch, service);
    return true;
  } catch (error) {
    await store.clear();
    throw error;
  }
}

/** Stores the records in one transaction. */
function storeBatch(batch: readonly SeedRecord[], service: Omit<ServiceContext, 'loadSeed'>): void {
  service.store.transaction(() => {
    for (const seed of batch) {
      const text = jsonOf(seed);
      try {
        restoreRecord(service, text);
      } catch (error) {
        if (!(error instanceof RecordError || error instanceof RestoreError)) throw error;
        throw new SeedError(error.message.slice(0, longestMessage), seed);
      }
    }
  });
}

function jsonOf(seed: SeedRecord): string {
  if (!new JsonSize().fits(Buffer.from(seed.text), mostOfRecord))
    throw new SeedError('the record has too many values', seed);
  try {
    JSON.parse(seed.text);
  } catch {
    throw new SeedError('invalid JSON', seed);
  }
  return seed.text;
}

async function* recordsOf(seed: Seed, signal?: AbortSignal): AsyncGenerator<SeedRecord> {
  let number = 0;
  for (const one of seed) {
    if (typeof one === 'string') yield* recordsIn(one, signal);
    else yield { file: undefined, line: ++number, text: JSON.stringify(one) };
  }
}

/** Where reading has come to. */
interface Place {
  readonly file: string;
  line: number;
}

async function* recordsIn(file: string, signal?: AbortSignal): AsyncGenerator<SeedRecord> {
  const place: Place = { file, line: 1 };
  const bytes = bytesOf(place, signal);
  try {
    const window = new TextBuffer(bytes);
    await skipBlanks(window, place);
    const start = { input: 0, offset: window.offset, line: place.line, ordinal: 0 };
    const isList = isArray(window.bytes.toString('latin1', 0, 1));
    const cutter = isList ? new JsonArraySplitter() : new NdjsonSplitter();
    const input = { source: file, window, cutter, start, maxRecordBytes: longestRecord };
    for await (const block of splitBlocks(input)) {
      yield* recordsOfBlock(block);
      block.memory?.release(block.count);
      place.line = block.end.line;
    }
  } finally {
    await bytes.return(undefined);
  }
}

/** Yields the records before the first one that cannot be read, and throws a SeedError for that. */
function* recordsOfBlock(block: RowBlock): Generator<SeedRecord> {
  const { source: file, bytes, bounds, lines, count } = block;
  const [wrong] = block.parseErrors;
  for (let record = 0; record < count; record++) {
    const [start, end] = [bounds[2 * record]!, bounds[2 * record + 1]!];
    if (wrong && wrong.at <= start) break;
    yield { file, line: lines[record]!, text: bytes.toString('utf8', start, end) };
  }
  if (!wrong) return;
  const what = wrong.error.replace(/(?:;| \().*--.*$/, ''); // a flag of other commands
  throw new SeedError(what, { file, line: wrong.line });
}

/** Yields the decompressed bytes of a file. Errors become a SeedError at the place. */
async function* bytesOf(place: Place, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const { file } = place;
  try {
    const stream = openStream(file);
    if (signal) addAbortSignal(signal, stream);
    yield* decompress(stream as AsyncIterable<Buffer>, file);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    const cause = (error as Error).cause ?? error;
    throw new SeedError('the file cannot be read', place, cause);
  }
}

const byteOrderMark = Buffer.from('\uFEFF');

/** Skips a byte order mark and blanks, of which there may be any number. */
async function skipBlanks(window: TextBuffer, place: Place): Promise<void> {
  while (window.bytes.length < byteOrderMark.length && !window.ended) await window.grow();
  if (window.bytes.indexOf(byteOrderMark) === 0) window.drop(byteOrderMark.length);
  for (;;) {
    let blanks = 0;
    for (const byte of window.bytes) {
      if (!isBlank(byte)) break;
      if (byte === lineFeed) place.line++;
      blanks++;
    }
    window.drop(blanks);
    if (window.bytes.length > 0 || window.ended) return;
    await window.grow();
  }
}

const lineFeed = 0x0a;
const isBlank = (byte: number): boolean =>
  byte === 0x20 || byte === lineFeed || byte === 0x0d || byte === 0x09;

import { compressions, parseFileName } from '../contract/file-formats.js';
import { createReadStream } from 'node:fs';
import { openStream } from '../files/read-file.js';
import { pipeline } from 'node:stream';
import { yieldToEventLoop } from './concurrency.js';
import { parseElements } from './raw-json.js';
import { RecordError } from './rest/record-validation.js';
import { RestoreError, restoreRecord } from './restore-record.js';
import type { Seed, ServiceContext } from './service.js';

/** Thrown for a seed that cannot be loaded. */
export class SeedError extends Error {
  /** Undefined for a record passed as an object. */
  readonly file: string | undefined;
  /** 1-based line of the file, or position of the record in an array. */
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

/** Records of a transaction, which blocks the event loop. */
const batchRecords = 250;

/** Loads the seed into a store without users; otherwise returns false. On a SeedError the store stays empty. */
export async function loadSeed(service: Omit<ServiceContext, 'loadSeed'>): Promise<boolean> {
  const { store, options } = service;
  if (!options.seed || store.get('SELECT 1 FROM profiles LIMIT 1', [])) return false;
  try {
    let batch: SeedRecord[] = [];
    for await (const record of recordsOf(options.seed)) {
      batch.push(record);
      if (batch.length < batchRecords) continue;
      storeBatch(batch, service);
      batch = [];
      await yieldToEventLoop();
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
        throw new SeedError(error.message, seed);
      }
    }
  });
}

function jsonOf(seed: SeedRecord): string {
  try {
    JSON.parse(seed.text);
  } catch {
    throw new SeedError('invalid JSON', seed);
  }
  return seed.text.trim();
}

async function* recordsOf(seed: Seed): AsyncGenerator<SeedRecord> {
  let number = 0;
  for (const one of seed) {
    if (typeof one === 'string') yield* recordsIn(one);
    else yield { file: undefined, line: ++number, text: JSON.stringify(one) };
  }
}

async function* recordsIn(file: string): AsyncGenerator<SeedRecord> {
  let line = 0;
  let array = '';
  for await (const text of linesIn(file)) {
    line++;
    if (array !== '' || (line === 1 && text.trimStart().startsWith('['))) array += `${text}\n`;
    else if (text.trim() !== '') yield { file, line, text };
  }
  if (array === '') return;
  const records = parseElements(jsonOf({ file, line: 1, text: array }));
  for (const [index, text] of records.entries()) yield { file, line: index + 1, text };
}

/** Splits at line feeds only: other line separators may occur inside JSON strings. */
async function* linesIn(file: string): AsyncGenerator<string> {
  const bytes = openStream(file);
  const { compression } = parseFileName(file);
  const inflater = compression && (await compressions[compression].inflater());
  // Errors reach the loop; behind padding, the inflater ends before the file does.
  const stream = inflater ? pipeline(bytes, inflater, () => undefined) : bytes;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let line = 1;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      line += lines.length;
      yield* lines;
    }
    rest += decoder.decode();
    if (inflater) await refuseData(file, inflater.bytesWritten);
  } catch (error) {
    throw new SeedError('the file cannot be read', { file, line }, error);
  }
  yield rest;
}

/** Throws if the file contains more than padding from `start` on: zlib stops at a NUL after a member. */
async function refuseData(file: string, start: number): Promise<void> {
  for await (const bytes of createReadStream(file, { start }) as AsyncIterable<Buffer>) {
    if (bytes.some((byte) => byte !== 0)) throw new Error('data after the padding');
  }
}

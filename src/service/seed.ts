import { compressions, parseFileName } from '../contract/file-formats.js';
import { createReadStream } from 'node:fs';
import {
  parseElements,
  isArray,
  isObject,
  joinMembers,
  parseMembers,
  objectText,
  stringOf,
  type Members,
} from './raw-json.js';
import { wellFormed } from './rest/read-request.js';
import { parseUploadRecord, saveUpload } from './rest/upload-user-profiles.js';
import { recordErrorOf } from './rest/write-records.js';
import { dayOf, dayToUtc } from '../contract/dates.js';
import type { Seed, ServiceContext } from './service.js';
import type { TimeZone } from '../time-zone.js';

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

const batchRecords = 1000;

/** Loads the seed into a store without users; otherwise returns false. On a SeedError the store stays empty. */
export async function loadSeed(service: Omit<ServiceContext, 'loadSeed'>): Promise<boolean> {
  const { store, options } = service;
  if (!options.seed || store.get('SELECT 1 FROM profiles LIMIT 1', [])) return false;
  try {
    let batch: SeedRecord[] = [];
    for await (const record of recordsOf(options.seed)) {
      batch.push(record);
      if (batch.length === batchRecords) batch = storeBatch(batch, service);
    }
    storeBatch(batch, service);
    return true;
  } catch (error) {
    store.clear();
    throw error;
  }
}

/** Stores the records in one transaction. Returns an empty batch. */
function storeBatch(batch: readonly SeedRecord[], service: Omit<ServiceContext, 'loadSeed'>): [] {
  const { store, zone } = service;
  store.transaction(() => {
    for (const seed of batch) {
      const text = toUploadRecord(jsonOf(seed), zone);
      const fault = recordErrorOf(() => saveUpload(service, parseUploadRecord(text)));
      if (fault) throw new SeedError(fault.message, seed);
    }
  });
  return [];
}

function jsonOf(seed: SeedRecord): string {
  try {
    return wellFormed(seed.text);
  } catch {
    throw new SeedError('invalid JSON', seed);
  }
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
  const bytes = createReadStream(file);
  const { compression } = parseFileName(file);
  const stream =
    compression === undefined ? bytes : bytes.compose(await compressions[compression].inflater());
  let rest = '';
  let line = 1;
  try {
    for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      line += lines.length;
      yield* lines;
    }
  } catch (error) {
    throw new SeedError('the file cannot be read', { file, line }, error);
  }
  yield rest;
}

/** Converts a profile or event as the reads return it to an upload record; returns upload records unchanged. */
function toUploadRecord(text: string, zone: TimeZone): string {
  const record = isObject(text) ? parseMembers(text) : undefined;
  if (!record || record.has('type')) return text;
  if (record.has('event_props')) return objectText(eventMembers(record, zone));
  if (record.has('profileData') || record.has('all_identities'))
    return objectText(profileMembers(record));
  return text;
}

function profileMembers(profile: Members): [string, string][] {
  const data = new Map(parseMembers(profile.get('profileData') ?? '{}'));
  for (const [from, to] of [
    ['email', 'Email'],
    ['name', 'Name'],
    ['phone', 'Phone'],
  ] as const) {
    const value = profile.get(from);
    if (value !== undefined && !data.has(to)) data.set(to, value);
  }
  const fields = `{${joinMembers(data)}}`;
  return [['type', '"profile"'], ...keyMembers(profile), ['profileData', fields]];
}

function eventMembers(event: Members, zone: TimeZone): [string, string][] {
  const user = event.get('profile');
  const ts = localSeconds(event.get('ts') ?? '', zone);
  return [
    ['type', '"event"'],
    ...keyMembers(isObject(user) ? parseMembers(user) : new Map()),
    ['evtName', event.get('event_name') ?? '""'],
    ['evtData', event.get('event_props') ?? '{}'],
    ...(ts === undefined ? [] : [['ts', String(ts)] as [string, string]]),
  ];
}

/** Returns the identity, or the first objectId of a user without one. */
function keyMembers(user: Members): [string, string][] {
  const identity = user.get('identity');
  if (identity !== undefined) return [['identity', identity]];
  const devices = user.get('platformInfo');
  const [device = '{}'] = isArray(devices) ? parseElements(devices) : [];
  const objectId = user.get('objectId') ?? parseMembers(device).get('objectId');
  return stringOf(objectId) === undefined ? [] : [['objectId', objectId ?? '']];
}

/** Converts a local time (yyyyMMddHHmmSS) to epoch seconds; undefined if it is not one. */
function localSeconds(text: string, zone: TimeZone): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text)?.map(Number) ?? [];
  const date = dayOf(year ?? 0, month ?? 0, day ?? 0);
  if (date === undefined) return undefined;
  const time = (hour ?? 0) * 3600 + (minute ?? 0) * 60 + (second ?? 0);
  return zone.toEpoch(dayToUtc(date) / 1000 + time);
}

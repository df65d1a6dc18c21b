import { createHash } from 'node:crypto';
import { instantiateTextProgram, reserve, type WasmMemory } from '../wasm.js';

/** Exports of `wasm/record-hash.ts`. */
interface HashProgram {
  readonly memory: WasmMemory;
  setSecret(low0: number, high0: number, low1: number, high1: number): void;
  hashRecords(count: number, bounds: number, kinds: number, text: number, out: number): void;
  hashKey(start: number, end: number, space: number, out: number): void;
  fingerprintEvents(
    count: number,
    bounds: number,
    text: number,
    out: number,
    room: number,
    uploadTimes: number,
  ): void;
}

/** Secret of keyed hashes: whoever writes records must not know it. Stored beside the hashes. */
export type HashSecret = readonly [number, number, number, number];

/** Makes a secret of an unguessable text. */
export function newSecret(token: string): HashSecret {
  const digest = createHash('sha256').update(token).digest();
  return [0, 4, 8, 12].map((at) => digest.readUInt32LE(at)) as unknown as HashSecret;
}

/** Whether what was read from a file is a secret. */
export const isSecret = (value: unknown): value is HashSecret =>
  Array.isArray(value) && value.length === 4 && value.every(Number.isInteger);

/** Kind of a record, which determines how its key is found. */
export const recordKinds = { profile: 0, event: 1, subscription: 2 } as const;

/** Names of keys that are no one's, though they read the same: the first letter of what holds them. */
export const keyNamespaces = {
  identity: 105,
  objectId: 111,
  FBID: 70,
  GPID: 71,
  phone: 112,
  whatsapp: 119,
  email: 101,
} as const;

/** Numbers of 32 bits of each record: the low and high half of the hash of its key, and of its own. */
export const hashWords = 4;

const slack = 64;

/** Hashes records and keys by SipHash-1-3; see `wasm/record-hash.ts`. */
export class RecordHasher {
  readonly #program = instantiateTextProgram() as HashProgram;

  constructor(secret: HashSecret) {
    this.#program.setSecret(...secret);
  }

  /**
   * Returns the hashes of records `[0, count)`, whose texts are in `json`; valid until the next call. The
   * hash of a key that is not found at once is 0.
   */
  ofRecords(
    json: Buffer,
    {
      count,
      bounds,
      kinds,
    }: { readonly count: number; readonly bounds: Int32Array; readonly kinds: Uint8Array },
  ): Int32Array {
    const program = this.#program;
    let length = 0;
    for (let at = 1; at < 2 * count; at += 2) length = Math.max(length, bounds[at]!);
    const boundsAt = 16 * count;
    const kindsAt = boundsAt + 8 * count;
    const textAt = kindsAt + count;
    reserve(program.memory, textAt + length + slack);
    const { buffer } = program.memory;
    new Int32Array(buffer, boundsAt, 2 * count).set(bounds.subarray(0, 2 * count));
    new Uint8Array(buffer, kindsAt, count).set(kinds.subarray(0, count));
    json.copy(Buffer.from(buffer, textAt, length), 0, 0, length);
    program.hashRecords(count, boundsAt, kindsAt, textAt, 0);
    return new Int32Array(buffer, 0, hashWords * count);
  }

  /** Hashes one key; returns the low and the high half. */
  ofKey(key: string, space: number): readonly [low: number, high: number] {
    const { memory } = this.#program;
    const text = Buffer.from(key);
    reserve(memory, hashWords * 4 + text.length + slack);
    text.copy(Buffer.from(memory.buffer, 16, text.length));
    this.#program.hashKey(16, 16 + text.length, space, 0);
    const [low = 0, high = 0] = new Int32Array(memory.buffer, 0, 2);
    return [low, high];
  }
}

/** Numbers of 32 bits of a fingerprint: its low and its high half. */
export const fingerprintWords = 2;

/**
 * Fingerprints of events: equal for equal JSON values, whatever the order of members, white space,
 * escapes and spelling of numbers.
 */
export class EventFingerprints {
  readonly #program = instantiateTextProgram() as HashProgram;

  constructor(secret: HashSecret) {
    this.#program.setSecret(...secret);
  }

  /**
   * Returns the fingerprints of records `[0, count)`, whose texts are in `json`; valid until the next call. The member
   * `ts` does not count in those that `uploadTimes` marks.
   */
  of({
    json,
    count,
    bounds,
    uploadTimes,
  }: {
    readonly json: Buffer;
    readonly count: number;
    readonly bounds: Int32Array;
    readonly uploadTimes?: Uint8Array | undefined;
  }): Int32Array {
    if (count === 0) return new Int32Array(0);
    const program = this.#program;
    let [from, to] = [bounds[0]!, bounds[1]!];
    for (let at = 2; at < 2 * count; at += 2) {
      from = Math.min(from, bounds[at]!);
      to = Math.max(to, bounds[at + 1]!);
    }
    const boundsAt = 8 * count;
    const textAt = boundsAt + 8 * count;
    const roomAt = textAt + (to - from) + slack;
    const timesAt = roomAt + (to - from) + slack;
    reserve(program.memory, timesAt + count);
    const { buffer } = program.memory;
    new Int32Array(buffer, boundsAt, 2 * count).set(bounds.subarray(0, 2 * count));
    json.copy(Buffer.from(buffer, textAt, to - from), 0, from, to);
    if (uploadTimes) new Uint8Array(buffer, timesAt, count).set(uploadTimes.subarray(0, count));
    program.fingerprintEvents(count, boundsAt, textAt - from, 0, roomAt, uploadTimes ? timesAt : 0);
    return new Int32Array(buffer, 0, fingerprintWords * count);
  }
}

/** Members that say whose record it is (service-facts, Upload), the one that orders it first. */
export const keyParts = ['identity', 'objectId', 'FBID', 'GPID'] as const;
export type KeyPart = (typeof keyParts)[number];

/** A key as a record has it: whose it is, by a member of users or the type of an address, and its text. */
export interface RecordKey {
  readonly space: keyof typeof keyNamespaces;
  readonly key: string;
}

/**
 * Whose record it is, from its JSON text as it is sent: the first of its keys; type and value of an
 * address; of a demerge the identity that the record is.
 */
export function keyOfRecord(json: string): RecordKey {
  const record = JSON.parse(json) as string | Readonly<Record<string, string>>;
  if (typeof record === 'string') return { space: 'identity', key: record };
  const part = keyParts.find((name) => record[name] !== undefined);
  if (part) return { space: part, key: record[part]! };
  return { space: record['type'] as RecordKey['space'], key: record['value']! };
}

/** Returns the keys of a user's record besides that of `keyOfRecord`, from its JSON text as it is sent. */
export function otherKeysOfRecord(json: string): RecordKey[] {
  const record = JSON.parse(json) as Readonly<Record<string, string>>;
  const parts = keyParts.filter((name) => record[name] !== undefined);
  return parts.slice(1).map((space) => ({ space, key: record[space]! }));
}

export const isUserKey = ({ space }: Pick<RecordKey, 'space'>): boolean =>
  keyParts.some((part) => part === space);

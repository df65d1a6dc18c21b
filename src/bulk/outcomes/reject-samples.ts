import { personalValues } from './personal-data.js';
import type { Reject } from '../../output/rejects-file.js';

/** Rejects that are told one by one; the rest is counted by kind. */
const rejectsKept = 10;
const samplesOfKind = 3;
/** Rejects whose reasons are compared. */
const mostCompared = 5000;
/** Characters of a sample's record. */
const sampleLength = 400;

/** A reject to be told. */
export interface FirstReject {
  readonly source: string;
  readonly line: number;
  /** Like `service 515` or `parse`. */
  readonly kind: string;
  /** Of the service. */
  readonly code?: number | undefined;
  readonly error: string;
  /** What identifies people in the record, the longest first. */
  readonly personal: readonly string[];
}

interface RejectSample extends Pick<Reject, 'source' | 'line' | 'error' | 'record'> {
  readonly personal: readonly string[];
}

/** Rejects of one kind. */
export interface RejectKind {
  count: number;
  /** The first few; `record` is the beginning of its JSON text. */
  readonly samples: RejectSample[];
}

/** What is told of a run's rejects, in memory that does not grow with them. */
export class RejectSamples {
  readonly first: FirstReject[] = [];
  /** By kind: `service 515`, `parse`, … */
  readonly kinds = new Map<string, RejectKind>();
  /** All were rejected for the same reason, as far as a few thousand tell. */
  areAlike = true;
  readonly #keys: readonly string[];
  #compared = 0;
  #reason = '';

  /** Columns that the user named as those that say who a record is of. */
  constructor(keys: readonly string[] = []) {
    this.#keys = keys;
  }

  add({ source, line, stage, code, error, record }: Reject): void {
    const name = code === undefined ? stage : `${stage} ${code}`;
    if (this.areAlike && this.#compared < mostCompared) this.#compare(`${name} ${error}`);
    const kind = this.kinds.get(name) ?? { count: 0, samples: [] };
    kind.count += 1;
    this.kinds.set(name, kind);
    const isOfKind = kind.samples.length < samplesOfKind;
    const isFirst = this.first.length < rejectsKept;
    if (!isFirst && !isOfKind) return;
    const personal = personalValues(record ?? '', this.#keys);
    if (isFirst) this.first.push({ source, line, kind: name, code, error, personal });
    if (!isOfKind) return;
    const sample = record === undefined ? {} : { record: beginningOf(record) };
    kind.samples.push({ source, line, error, personal, ...sample });
  }

  /** Values and numbers differ from record to record; a column that is named first does not. */
  #compare(text: string): void {
    const [, head = '', rest = ''] =
      /^(\S+(?: \d+)? (?:columns? "(?:[^"\\]|\\.)*": )?)([^]*)$/.exec(text) ?? [];
    const reason = head + rest.replace(/"(?:[^"\\]|\\.)*"|\d+/g, '…');
    this.areAlike = this.#compared === 0 || reason === this.#reason;
    this.#compared += 1;
    this.#reason = reason;
  }
}

/** A copy: a part of a string would keep the whole of it. */
const beginningOf = (text: string): string =>
  text.length <= sampleLength ? text : `${Buffer.from(text.slice(0, sampleLength)).toString()}…`;

/**
 * Words of the service about one record, with its line in place of its number in the request, and
 * with the column they speak of and its value: people know neither the request nor its numbers.
 * `record` is JSON text of what was read.
 */
export function locateServiceError(error: string, line: number, record: string): string {
  const number = /\brecord number\s*:\s*\d+/i;
  const [words, own] = [error.replace(number, `record: line ${line}`), error.replace(number, '')];
  const values = valuesOf(record);
  const named =
    values.find(([name]) => speaksOf(own, name)) ??
    values.find(([name]) => name === 'value' && /\b(?:email|phone|whatsapp)\b/i.test(own));
  if (!named) return words;
  const [name, value] = named;
  const shown = shortened(JSON.stringify(value));
  if (words.includes(shown)) return words;
  return `${words} (column ${JSON.stringify(name)}: ${shown})`;
}

/** Members of the record and of the data within it that are no objects. */
function valuesOf(record: string): readonly (readonly [name: string, value: unknown])[] {
  let read: unknown;
  try {
    read = JSON.parse(record);
  } catch {
    return [];
  }
  if (typeof read !== 'object' || read === null) return [];
  const members = Object.entries(read as Readonly<Record<string, unknown>>);
  const inner = members.flatMap(([name, value]) =>
    (name === 'profileData' || name === 'evtData') && typeof value === 'object' && value !== null
      ? Object.entries(value)
      : [],
  );
  return [...inner, ...members].filter(([, value]) => typeof value !== 'object');
}

/** As a whole word. Names of the record itself are words of every sentence. */
function speaksOf(words: string, name: string): boolean {
  if (name.length < 2 || /^(?:type|status|record|profile|event|value)$/i.test(name)) return false;
  const at = words.indexOf(name);
  if (at < 0) return false;
  const around = `${words[at - 1] ?? ' '}${words[at + name.length] ?? ' '}`;
  return !/[\p{L}\p{N}_-]/u.test(around);
}

const longest = 60;
const shortened = (text: string): string =>
  text.length <= longest ? text : `${text.slice(0, longest)}…`;

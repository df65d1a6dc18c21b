import { namesOfPath } from '../../contract/file-formats.js';
import type { Reject } from '../../output/rejects-file.js';

/** Rejects kept for display; the others are only counted. */
const firstRejects = 10;
const samplesOfKind = 3;
/** Maximum kinds with a code, more than the service has; rejects with further codes are counted by their stage. */
const mostKinds = 50;
/** Maximum rejects whose reasons are compared. */
const comparedMaximum = 5000;
/** Maximum characters of a sample's record. */
const sampleLength = 400;

/** A reject to display. */
export interface FirstReject {
  readonly source: string;
  readonly line: number;
  /** Stage and code, e.g. `service 515` or `parse`. */
  readonly kind: string;
  /** Error code of the service. */
  readonly code?: number | undefined;
  readonly error: string;
  /** Values that identify people in the record, the longest first. */
  readonly personal: readonly string[];
}

interface RejectSample extends Pick<Reject, 'source' | 'line' | 'error' | 'record'> {
  readonly personal: readonly string[];
}

/** Rejects of one kind. */
export interface RejectKind {
  count: number;
  /** The first few; `record` is the start of the JSON text. */
  readonly samples: RejectSample[];
}

/** Counts the rejects of a run by kind and keeps a few of each, in constant memory. */
export class RejectSamples {
  readonly first: FirstReject[] = [];
  /** Rejects by kind: `service 515`, `parse`, … */
  readonly kinds = new Map<string, RejectKind>();
  /** Whether the first few thousand were all rejected for the same reason. */
  areAlike = true;
  readonly #keys: readonly string[];
  #compared = 0;
  #reason = '';

  /** `keys` are the columns or paths that the user named as the record's key. */
  constructor(keys: readonly string[] = []) {
    this.#keys = keys.flatMap((path) => [path, namesOfPath(path).at(-1)!]);
  }

  add({ source, line, stage, code, error, record, columns }: Reject): void {
    const coded = code === undefined ? stage : `${stage} ${code}`;
    const name = this.kinds.has(coded) || this.kinds.size < mostKinds ? coded : stage;
    if (this.areAlike && this.#compared < comparedMaximum) this.#compare(`${name} ${error}`);
    const kind = this.kinds.get(name) ?? { count: 0, samples: [] };
    kind.count += 1;
    this.kinds.set(name, kind);
    const isOfKind = kind.samples.length < samplesOfKind;
    const isFirst = this.first.length < firstRejects;
    if (!isFirst && !isOfKind) return;
    const isUnread = stage === 'parse' || columns !== undefined; // the string is a text, not an identity
    const personal = personalValues(record ?? '', this.#keys, isUnread);
    if (isFirst) this.first.push({ source, line, kind: name, code, error, personal });
    if (!isOfKind) return;
    const sample = record === undefined ? {} : { record: startOf(record) };
    kind.samples.push({ source, line, error, personal, ...sample });
  }

  /** Compares reasons without quoted values and numbers, except for the name of the column at the start. */
  #compare(text: string): void {
    const [, head = '', rest = ''] =
      /^(\S+(?: \d+)? (?:columns? "(?:[^"\\]|\\.)*": )?)([^]*)$/.exec(text) ?? [];
    const reason = head + rest.replace(/"(?:[^"\\]|\\.)*"|\d+/g, '…');
    this.areAlike = this.#compared === 0 || reason === this.#reason;
    this.#compared += 1;
    this.#reason = reason;
  }
}

/** Copies the start, because a substring keeps the whole string in memory. */
const startOf = (text: string): string =>
  text.length <= sampleLength ? text : `${Buffer.from(text.slice(0, sampleLength)).toString()}…`;

/**
 * Makes an error of the service useful to the reader: replaces the record number, which refers to
 * the request, with the line in the file, and adds the column in question and its value. `record`
 * is the JSON text of the record as read.
 */
export function locateServiceError(error: string, line: number, record: string): string {
  const number = /\brecord number\s*:\s*\d+/i;
  const located = error.replace(number, `record: line ${line}`);
  const withoutNumber = error.replace(number, '');
  const values = valuesOf(record);
  const named =
    values.find(([name]) => mentions(withoutNumber, name)) ??
    values.find(
      ([name]) => name === 'value' && /\b(?:email|phone|whatsapp)\b/i.test(withoutNumber),
    );
  if (!named) return located;
  const [name, value] = named;
  const quoted = truncated(JSON.stringify(value));
  if (located.includes(quoted)) return located;
  return `${located} (column ${JSON.stringify(name)}: ${quoted})`;
}

/** Lists the scalar members of the record and of its profileData or evtData. */
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

/** Whether the text contains the name as a whole word. Names that are common English words do not count. */
function mentions(words: string, name: string): boolean {
  if (name.length < 2 || /^(?:type|status|record|profile|event|value)$/i.test(name)) return false;
  const at = words.indexOf(name);
  if (at < 0) return false;
  const around = `${words[at - 1] ?? ' '}${words[at + name.length] ?? ' '}`;
  return !/[\p{L}\p{N}_-]/u.test(around);
}

const longest = 60;
const truncated = (text: string): string =>
  text.length <= longest ? text : `${text.slice(0, longest)}…`;

/** Column names of identifiers and contact data. */
const personal =
  /identit|object_?id|mail|phone|mobile|msisdn|whatsapp|^tel|cuid|caller|callee|address|street|^value$|^(?:FB|GP)ID$|^(?:full|first|last|sur|family|given|middle|nick|user)?[ _-]?name$/i;

/** Column names that match, but contain only yes or no. */
const flag = /^MSG-/;

/** Whether a column of this name identifies a person; columns in `keys` always do. */
export const isPersonalColumn = (name: string, keys: readonly string[]): boolean =>
  keys.includes(name) || (personal.test(name) && !flag.test(name));

/**
 * Collects the values of a record that identify a person, the longest first, so that messages can
 * mask them. `keys` are the columns that the user named as the record's key. A record without names is an identity, or
 * a list of them, unless it `isUnread`.
 */
function personalValues(
  record: string,
  keys: readonly string[],
  isUnread: boolean,
): readonly string[] {
  const found = new Set<string>();
  const collect = (value: unknown, isPersonal: boolean): void => {
    if (Array.isArray(value)) {
      for (const one of value) collect(one, isPersonal);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value))
        collect(one, isPersonal || isPersonalColumn(name, keys));
    } else if (isPersonal && (typeof value === 'string' || typeof value === 'number')) {
      found.add(String(value));
    }
  };
  const read = parsed(record);
  const isNameless = typeof read !== 'object' || Array.isArray(read);
  collect(read, isNameless && !isUnread);
  found.delete('');
  return [...found].toSorted((a, b) => b.length - a.length);
}

function parsed(record: string): unknown {
  try {
    return JSON.parse(record);
  } catch {
    return undefined;
  }
}

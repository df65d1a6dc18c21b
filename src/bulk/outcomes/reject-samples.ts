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

export interface RejectSample extends Pick<Reject, 'source' | 'line' | 'error' | 'record'> {
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

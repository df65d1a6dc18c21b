import type { Sighting } from './field.js';

/** Something in an input that is probably not meant so. */
export interface Mistake {
  /** Stable, for scripts. */
  readonly id: string;
  /** Of the input; null when it concerns whole records. */
  readonly column: string | null;
  /** Records or values that it concerns. */
  readonly count: number;
  readonly what: string;
  readonly fix: string;
  /** With which the service refuses such records; null where it takes them. */
  readonly code: number | null;
  /** Where it was seen first, if that is one place. */
  readonly source: string | null;
  readonly line: number | null;
}

/** What a rule found. */
export interface Finding {
  readonly what: string;
  readonly fix: string;
  readonly code?: number | undefined;
  /** Undefined where the key itself is the mistake. */
  readonly seen?: Sighting;
}

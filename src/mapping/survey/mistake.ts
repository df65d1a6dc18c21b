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

/** A mistake that is the key of a column, or was seen in values or records. */
export function mistake(
  { id, column, what, fix, code }: Pick<Mistake, 'id' | 'column' | 'what' | 'fix' | 'code'>,
  seen: Sighting | undefined,
  count = 0,
): Mistake {
  const { source = null, line = null } = seen ?? {};
  return { id, column, count: seen?.count ?? count, what, fix, code, source, line };
}

import { columnOf } from '../columns.js';
import type { UploadMapping } from '../upload-mapping.js';
import type { Field, JsonType } from './field.js';
import type { Look } from './looks.js';
import { columnNames } from './mistakes.js';
import type { Survey } from './survey.js';

/** One column of the input, and what is sent of it. */
export interface ColumnPreview {
  readonly column: string;
  /** Null when it is not sent. */
  readonly key: string | null;
  /** Of the record in which the key stands; null for a column that is not sent. */
  readonly part: Field['part'] | null;
  /** Of the values that are sent, the most frequent first. */
  readonly types: readonly JsonType[];
  /** What its texts look like, where nearly all of them look the same. */
  readonly looksLike: Exclude<Look, 'text' | 'empty'> | null;
  /** Records that have it. */
  readonly filled: number;
  /** Characters of the shortest and the longest value; null where there is none. */
  readonly shortest: number | null;
  readonly longest: number | null;
}

/** The columns in the order of the header; without one, in that of their first appearance. */
export function columnPreviews(
  survey: Survey,
  headers: readonly (readonly string[])[],
  mapping: UploadMapping,
): readonly ColumnPreview[] {
  const nameOf = columnNames(mapping);
  const sent = [...survey.fields]
    .filter(({ count }) => count > 0)
    .map((field) => ofField(field, nameOf(field)));
  const names = [...new Set([...headers.flat(), ...(headers.length === 0 ? mapping.drop : [])])];
  const seen = new Set(sent.map(({ column }) => column));
  const unseen = names.filter((name) => !seen.has(name)).map((name) => unsent(name, mapping));
  const place = new Map(names.map((name, index) => [name, index]));
  const placeOf = ({ column }: ColumnPreview) => place.get(column) ?? names.length;
  return [...sent, ...unseen].toSorted((a, b) => placeOf(a) - placeOf(b));
}

function ofField(field: Field, column: string): ColumnPreview {
  const { part, key, count, shortest, longest } = field;
  const byCount = [...field.types].toSorted(([, a], [, b]) => b - a);
  const types = byCount.map(([type]) => type);
  return { column, key, part, types, looksLike: lookOf(field), filled: count, shortest, longest };
}

/** Nine of ten texts; a JSON number or boolean says itself what it is. */
function lookOf(field: Field): ColumnPreview['looksLike'] {
  const texts = field.types.get('string') ?? 0;
  const [look, seen] = [...field.looks].toSorted(([, a], [, b]) => b - a)[0] ?? ['text', 0];
  return look === 'text' || look === 'empty' || seen < 0.9 * texts ? null : look;
}

/** A column that is dropped, or has no value anywhere. */
function unsent(column: string, mapping: UploadMapping): ColumnPreview {
  const { role, key } = columnOf(column, mapping);
  const part = mapping.kind === 'event' ? 'evtData' : 'profileData';
  return {
    column,
    key: role === 'none' ? null : key,
    part: role === 'none' ? null : role === 'data' ? part : 'record',
    types: [],
    looksLike: null,
    filled: 0,
    shortest: null,
    longest: null,
  };
}

import { recordCodes } from '../../contract/error-codes.js';
import { resolveColumn } from '../columns.js';
import { checkField, issue, type QualityIssue } from './quality-rules.js';
import type { UploadMapping } from '../upload-mapping.js';
import type {
  FieldProfile,
  JsonType,
  ValuePattern,
  Occurrence,
  FieldStatistics,
} from './field-statistics.js';

/** Findings of a preview. */
export interface PreviewFindings {
  /** Columns in the order of the header, or of their first appearance if there is none. */
  readonly columns: readonly ColumnPreview[];
  /** Likely mistakes, those that cause rejected records first. */
  readonly mistakes: readonly QualityIssue[];
}

/** Preview of one column of the input. */
interface ColumnPreview {
  readonly column: string;
  /** Key under which it is sent; null if it is not sent. */
  readonly key: string | null;
  /** Part of the record that contains the key; null if it is not sent. */
  readonly part: FieldProfile['part'] | null;
  /** JSON types of its values, the most frequent first. */
  readonly types: readonly JsonType[];
  /** Pattern of its texts, if nearly all of them have the same. */
  readonly looksLike: Exclude<ValuePattern, 'text' | 'empty'> | null;
  /** Number of records that have it. */
  readonly filled: number;
  /** Lengths of the shortest and longest value in characters; null if there is none. */
  readonly shortest: number | null;
  readonly longest: number | null;
}

/** Derives the findings of a preview from the statistics of the records. */
export function previewFindings(
  statistics: FieldStatistics,
  headers: readonly (readonly string[])[],
  mapping: UploadMapping,
): PreviewFindings {
  const nameOf = columnNames(mapping);
  const sent = statistics.fields.map((field) => ofField(field, nameOf(field)));
  const names = [...new Set([...headers.flat(), ...(headers.length === 0 ? mapping.drop : [])])];
  const seen = new Set(sent.map(({ column }) => column));
  const unseen = names.filter((name) => !seen.has(name)).map((name) => unsent(name, mapping));
  const place = new Map(names.map((name, index) => [name, index]));
  const placeOf = ({ column }: ColumnPreview) => place.get(column) ?? names.length;
  return {
    columns: [...sent, ...unseen].toSorted((a, b) => placeOf(a) - placeOf(b)),
    mistakes: mistakesOf(statistics, nameOf, mapping),
  };
}

/** Returns a function from fields to the names of their columns, which the mapping may rename. */
function columnNames(mapping: UploadMapping): (field: FieldProfile) => string {
  const columns = new Map([...mapping.map].map(([column, key]) => [key, column]));
  return ({ part, key }) => {
    if (part === 'record' && key === 'identity') return mapping.identity;
    if (part === 'record' && key === 'objectId') return mapping.objectId ?? key;
    return columns.get(key) ?? key;
  };
}

function ofField(field: FieldProfile, column: string): ColumnPreview {
  const { part, key, count, shortest, longest } = field;
  const types = byCount(field.types).map(([type]) => type);
  return {
    column,
    key,
    part,
    types,
    looksLike: commonPattern(field),
    filled: count,
    shortest,
    longest,
  };
}

/** Returns the pattern of nine of ten texts, if there is one. */
function commonPattern(field: FieldProfile): ColumnPreview['looksLike'] {
  const texts = field.types.get('string') ?? 0;
  const [pattern, count] = byCount(field.patterns)[0] ?? ['text', 0];
  return pattern === 'text' || pattern === 'empty' || count < 0.9 * texts ? null : pattern;
}

const byCount = <Kind>(counts: ReadonlyMap<Kind, number>): [Kind, number][] =>
  [...counts].toSorted(([, a], [, b]) => b - a);

/** Returns the preview of a column that is dropped or always empty. */
function unsent(column: string, mapping: UploadMapping): ColumnPreview {
  const { role, key } = resolveColumn(column, mapping);
  const data = mapping.kind === 'event' ? 'evtData' : 'profileData';
  return {
    column,
    key: role === 'none' ? null : key,
    part: role === 'none' ? null : role === 'data' ? data : 'record',
    types: [],
    looksLike: null,
    filled: 0,
    shortest: null,
    longest: null,
  };
}

/** Likely mistakes behind frequent local rejects, by their reason. */
const rejectRules = [
  {
    id: 'identity-empty',
    pattern: /the value is empty or missing(?:;|$)|^identity is missing(?:;|$)/,
    fix: 'set another column with --identity, or the column of the objectId with --object-id',
  },
  {
    id: 'padded-identity',
    pattern:
      /^(?:column "[^"]*"|identity|objectId): .* (?:has whitespace around it|contains the invisible)/,
    fix: 'add --trim, or correct the identities',
  },
  {
    id: 'milliseconds',
    pattern: /more than 11 digits: expected epoch seconds|is not a number of epoch seconds/,
    fix: 'write seconds (the number without its last three digits), or ISO 8601',
  },
];

function mistakesOf(
  statistics: FieldStatistics,
  nameOf: (field: FieldProfile) => string,
  mapping: UploadMapping,
): QualityIssue[] {
  const fromRejects = rejectRules.flatMap(({ id, pattern, fix }) =>
    [...statistics.reasons]
      .filter(([reason]) => pattern.test(reason))
      .map(([, seen]) => recordIssue(id, seen.example, fix, seen)),
  );
  const fromKeys: QualityIssue[] = [];
  for (const [part, seen] of statistics.tooManyKeys) {
    const what = `a record may have 256 custom keys or properties, but some have ${seen.example}`;
    const code = part === 'evtData' ? recordCodes.tooManyEventProperties : null;
    const fix = 'choose columns with --only or --drop';
    fromKeys.push(issue({ id: 'too-many-keys', column: null, what, fix, code }, seen));
  }
  if (statistics.hasMoreFields) {
    const what = 'there are more than 2,000 different keys, of which some may be values';
    fromKeys.push(recordIssue('too-many-fields', what, 'check how the keys are generated'));
  }
  const fromFields = statistics.fields.flatMap((field) =>
    checkField(field, nameOf(field), statistics, mapping),
  );
  const found = [...fromKeys, ...fromFields];
  const refused = found.filter(({ code }) => code !== null);
  const others = found.filter(({ code }) => code === null);
  return [...fromRejects, ...refused, ...others];
}

const recordIssue = (id: string, what: string, fix: string, seen?: Occurrence): QualityIssue =>
  issue({ id, column: null, what, fix, code: null }, seen);

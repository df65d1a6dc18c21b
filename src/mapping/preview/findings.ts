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

/** What is told of an input that was surveyed. */
export interface PreviewFindings {
  /** In the order of the header; without one, in that of their first appearance. */
  readonly columns: readonly ColumnPreview[];
  /** Likely mistakes: those first that leave records out. */
  readonly mistakes: readonly QualityIssue[];
}

/** One column of the input, and what is sent of it. */
interface ColumnPreview {
  readonly column: string;
  /** Null when it is not sent. */
  readonly key: string | null;
  /** Of the record in which the key stands; null for a column that is not sent. */
  readonly part: FieldProfile['part'] | null;
  /** Of the values that are sent, the most frequent first. */
  readonly types: readonly JsonType[];
  /** What its texts look like, where nearly all of them look the same. */
  readonly looksLike: Exclude<ValuePattern, 'text' | 'empty'> | null;
  /** Records that have it. */
  readonly filled: number;
  /** Characters of the shortest and the longest value; null where there is none. */
  readonly shortest: number | null;
  readonly longest: number | null;
}

export function previewFindings(
  survey: FieldStatistics,
  headers: readonly (readonly string[])[],
  mapping: UploadMapping,
): PreviewFindings {
  const nameOf = columnNames(mapping);
  const sent = survey.fields.map((field) => ofField(field, nameOf(field)));
  const names = [...new Set([...headers.flat(), ...(headers.length === 0 ? mapping.drop : [])])];
  const seen = new Set(sent.map(({ column }) => column));
  const unseen = names.filter((name) => !seen.has(name)).map((name) => unsent(name, mapping));
  const place = new Map(names.map((name, index) => [name, index]));
  const placeOf = ({ column }: ColumnPreview) => place.get(column) ?? names.length;
  return {
    columns: [...sent, ...unseen].toSorted((a, b) => placeOf(a) - placeOf(b)),
    mistakes: mistakesOf(survey, nameOf),
  };
}

/** From a key as it is sent to the name of its column; the mapping says which were renamed. */
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
  return { column, key, part, types, looksLike: lookOf(field), filled: count, shortest, longest };
}

/** Nine of ten texts; a JSON number or boolean says itself what it is. */
function lookOf(field: FieldProfile): ColumnPreview['looksLike'] {
  const texts = field.types.get('string') ?? 0;
  const [look, seen] = byCount(field.looks)[0] ?? ['text', 0];
  return look === 'text' || look === 'empty' || seen < 0.9 * texts ? null : look;
}

const byCount = <Kind>(counts: ReadonlyMap<Kind, number>): [Kind, number][] =>
  [...counts].toSorted(([, a], [, b]) => b - a);

/** A column that is dropped, or has no value anywhere. */
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

/** Local rejects that mostly come in crowds (service-facts, Answers: 523, 525), by their reason. */
const rejectRules = [
  {
    id: 'identity-empty',
    pattern: /the value is empty or missing(?:;|$)|^identity is missing(?:;|$)/,
    fix: 'name another column with --identity, or the one of the devices with --object-id',
  },
  {
    id: 'milliseconds',
    pattern: /epoch seconds are wanted, not milliseconds$|no number of epoch seconds/,
    fix: 'write seconds (the number without its last three digits), or ISO 8601',
  },
];

function mistakesOf(
  survey: FieldStatistics,
  nameOf: (field: FieldProfile) => string,
): QualityIssue[] {
  const ofRejects = rejectRules.flatMap(({ id, pattern, fix }) =>
    [...survey.reasons]
      .filter(([reason]) => pattern.test(reason))
      .map(([, seen]) => ofRecords(id, seen.example, fix, seen)),
  );
  const ofKeys: QualityIssue[] = [];
  const tooMany = survey.traits.get('too many keys');
  if (tooMany) {
    const what = `a record may have 256 custom keys or properties, and some have ${tooMany.example}`;
    ofKeys.push(ofRecords('too-many-keys', what, 'choose columns with --only or --drop', tooMany));
  }
  if (survey.hasMoreFields) {
    const what = 'there are more than 2,000 different keys: some may be values';
    ofKeys.push(ofRecords('too-many-fields', what, 'look at how the keys are made'));
  }
  const ofFields = survey.fields.flatMap((field) => checkField(field, nameOf(field), survey));
  const refused = ofFields.filter(({ code }) => code !== null);
  const others = ofFields.filter(({ code }) => code === null);
  return [...ofRejects, ...refused, ...ofKeys, ...others];
}

const ofRecords = (id: string, what: string, fix: string, seen?: Occurrence): QualityIssue =>
  issue({ id, column: null, what, fix, code: null }, seen);

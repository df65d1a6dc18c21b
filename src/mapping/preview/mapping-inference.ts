import { EngagectlError } from '../../errors.js';
import { quoteForShell } from '../../wording.js';
import { profileFields } from '../../contract/record-fields.js';
import { exportedKind } from '../exported-csv.js';
import { objectsAround, pathWithin } from '../columns.js';
import { rejectColumns } from '../../contract/file-formats.js';
import { isReachabilityFlag, normalizeName, suggestField } from './field-spelling.js';
import {
  inferIdentity,
  orderOf,
  ColumnSample,
  type FittingTypes,
  type SampledRows,
} from './column-inference.js';
import { sourceRecord } from '../rejects-input.js';
import { isRecord } from '../api-records.js';
import type { MappingFile } from '../mapping-file-schema.js';
import type { CellType, UploadMapping } from '../upload-mapping.js';
import type { RowBlock } from '../../input/row-block.js';
import type { TimeZone } from '../../time-zone.js';

/** Normalized names of the columns with time and name of events. */
const eventWords = {
  ts: ['ts', 'timestamp', 'time', 'eventtime', 'datetime', 'occurredat', 'createdat', 'date'],
  evtName: ['evtname', 'eventname', 'event', 'eventtype'],
} as const;

/**
 * Infers a mapping file that lists every column, and expects what the sampled rows have in common. The options
 * in `given` take precedence. Returns undefined if no column can be the identity.
 */
export function inferMapping(sampled: SampledRows, given: UploadMapping): MappingFile | undefined {
  const { drop, only } = given;
  const columns = sampled.columns.filter(({ name }) => !rejectColumns.includes(name));
  const identity = inferIdentity({ ...sampled, columns }, given);
  if (identity === undefined && given.objectId === undefined) return undefined;
  const keys = new Set([identity, given.objectId]);
  const others = columns.filter(({ name }) => !keys.has(name));
  const isDropped = ({ name }: ColumnSample) => drop.has(name) || only?.has(name) === false;
  const sent = others.filter((column) => !isDropped(column));
  const map = keysFor(sent, { ...sampled, columns, given });
  const isPart = ({ name }: ColumnSample) => given.kind === 'event' && isEventPart(map.get(name));
  const data = sent.filter((column) => !isPart(column));
  const listed = [...map].filter(([, key]) => !reservedKeys.has(key));
  const trim = isTrimmed(sent, sampled.rows, given);
  const inferred: MappingFile = {
    identity,
    objectId: given.objectId,
    map: Object.fromEntries(listed),
    types: {
      ...keyTypes(columns, keys, given),
      ...typesOf(data, map, { ...sampled, given }),
      ...constantTypes(given),
    },
    drop: others.filter(isDropped).map(({ name }) => name),
    set: Object.fromEntries(given.constants),
    lowercase: [...given.lowercase],
    trim: trim || undefined,
    nullValues: [
      ...new Set(columns.flatMap((column) => column.placeholders(trim).map(([text]) => text))),
    ],
    required: required(sent, sampled.rows),
    columns: sampled.rows >= minRows && listed.length === map.size ? 'exact' : undefined,
    values: closedSets(
      data.filter(({ padded }) => trim || padded === 0),
      map,
      { ...sampled, given },
    ),
  };
  return Object.fromEntries(Object.entries(inferred).filter(([, part]) => isFilled(part)));
}

/**
 * Whether cells are trimmed: on request, or if a program pads a column of data. Columns of identity and objectId do not
 * count: trimming makes the text " bob" that a visitor typed the user bob.
 */
const isTrimmed = (
  sent: readonly ColumnSample[],
  rows: number,
  { cleaning }: UploadMapping,
): boolean => cleaning?.trim === true || sent.some((column) => column.isPaddedByProgram(rows));

/** Returns the types of the columns of identity and objectId: a number of JSON is sent as text. */
const keyTypes = (
  columns: readonly ColumnSample[],
  keys: ReadonlySet<string | undefined>,
  { types }: UploadMapping,
): Record<string, CellType> =>
  Object.fromEntries(
    columns.flatMap(({ name, filled, isNumeric }) => {
      const type = types.get(name) ?? (filled > 0 && isNumeric ? 'string' : undefined);
      return keys.has(name) && type !== undefined ? [[name, type] as const] : [];
    }),
  );

/** Whether a member is neither undefined nor an empty list or table. */
const isFilled = (part: MappingFile[keyof MappingFile]): boolean =>
  part === true || (part !== undefined && Object.keys(part).length > 0);

const isEventPart = (key: string | undefined): boolean => key === 'ts' || key === 'evtName';

/** Keys of the record, which no column of data is mapped to. */
const reservedKeys: ReadonlySet<string> = new Set(['identity', 'objectId']);

/**
 * Returns the key of each column that is sent: default fields in the service's spelling, others trimmed. Visitors may name
 * the values within an object: these get no field that any column outside of it is named like.
 */
function keysFor(
  sent: readonly ColumnSample[],
  { columns, isCsv, given }: Sampled,
): Map<string, string> {
  const taken = new Set([...reservedKeys, ...sent.map(({ name }) => given.map.get(name) ?? name)]);
  const outer = columns.filter(({ isNested }) => !isNested);
  const fields = new Set(outer.map(({ name }) => fieldNamed(name, given)));
  const keyOf = (column: ColumnSample): string => {
    const { name } = column;
    const named = given.map.get(name);
    if (named !== undefined) return named;
    const own = isCsv ? name : nameWithin(name);
    const field = fieldNamed(own, given);
    if (column.isNested && field !== undefined && fields.has(field)) return name;
    const meant = meantBy(column, field, given) ?? own.trim();
    if (meant === name || meant === '' || taken.has(meant)) return name;
    taken.add(meant);
    return meant;
  };
  return new Map(sent.map((column) => [column.name, keyOf(column)]));
}

/** Returns the default field of a profile, or the part of an event, that a column is named like. */
function fieldNamed(name: string, { kind }: UploadMapping): string | undefined {
  if (kind === 'profile')
    return profileFields.has(name) || isReachabilityFlag(name) ? name : suggestField(name);
  const word = normalizeName(name);
  return (['ts', 'evtName'] as const).find((part) =>
    eventWords[part].some((each) => each === word),
  );
}

function meantBy(column: ColumnSample, field: string | undefined, given: UploadMapping) {
  const { tsNow, eventName } = given;
  if (field === 'ts') return tsNow === undefined && column.isTime ? field : undefined;
  const isName = eventName === undefined && column.isText && column.filled > 0;
  return field === 'evtName' && !isName ? undefined : field;
}

/** Types of the default fields that are not text. Flags are boolean by default. */
const typedFields: Readonly<Record<string, string>> = { Age: 'integer', DOB: 'date' };

interface Sampled extends SampledRows {
  readonly given: UploadMapping;
}

function typesOf(
  columns: readonly ColumnSample[],
  map: ReadonlyMap<string, string>,
  { isCsv, given }: Sampled,
): NonNullable<MappingFile['types']> {
  const certain = columns.map((column) => (isCsv ? column.formats?.types : undefined) ?? []);
  const decided = [...given.types.values(), ...certain.filter(({ length }) => length === 1).flat()];
  const types = columns.flatMap((column) => {
    const { name } = column;
    const key = map.get(name)!;
    const named = given.types.get(name);
    if (named !== undefined) return [[name, named] as const];
    if (isReachabilityFlag(key)) return [];
    const isField = given.kind === 'profile' && profileFields.has(key);
    const type = isField
      ? fieldType(key, column, isCsv, decided)
      : inferredType(column, isCsv, decided);
    return type === undefined ? [] : [[name, type] as const];
  });
  return Object.fromEntries(types);
}

/** Returns the type of a field of the service that is not a text, or a format of its values. */
function fieldType(
  key: string,
  column: ColumnSample,
  isCsv: boolean,
  decided: readonly CellType[],
): CellType | undefined {
  if (key === 'Phone') return oneOf(column, column.phoneTypes);
  if (typedFields[key] === undefined) return undefined;
  const type = inferredType(column, isCsv, decided);
  return type?.split('(')[0] === typedFields[key] ? type : undefined;
}

/** Returns the type of a column; `string` for numbers that are codes, so that they are not taken for mistakes. */
function inferredType(
  column: ColumnSample,
  isCsv: boolean,
  decided: readonly CellType[],
): CellType | undefined {
  const numericTime = column.numericTimes?.types[0];
  if (numericTime !== undefined) return numericTime;
  const plain = column.type(isCsv);
  const formats = plain === 'date' || !isCsv ? undefined : column.formats;
  const type =
    plain === 'integer' || plain === 'boolean' ? plain : (oneOf(column, formats, decided) ?? plain);
  return type ?? (isCsv && column.isCode ? 'string' : undefined);
}

/** Whether two types have dates in the same order, or are the same: a program writes all its columns alike. */
const sameOrder = (a: CellType, b: CellType): boolean =>
  a === b || (orderOf(a) !== '' && orderOf(a) === orderOf(b));

/** The values of a column can be read in several ways, which mean different values. */
export class AmbiguousColumnError extends EngagectlError {
  readonly column: string;
  readonly found: FittingTypes;

  constructor(column: string, found: FittingTypes) {
    const flags = found.types.map((type) => `--types ${quoteForShell(`${column}:${type}`)}`);
    super('E-EXPECTED', `column ${JSON.stringify(column)} can be read in several ways`, {
      why: `all values, such as ${JSON.stringify(found.example)}, fit ${found.types.join(' and ')}`,
      fix: `state which one: ${flags.join(' or ')}`,
    });
    this.column = column;
    this.found = found;
  }
}

/** Throws AmbiguousColumnError if values can be read in several ways. */
function oneOf(
  { name }: ColumnSample,
  found: FittingTypes | undefined,
  decided: readonly CellType[] = [],
): CellType | undefined {
  const [type, other] = found?.types ?? [];
  if (!found || other === undefined) return type;
  const alike = found.types.filter((each) => decided.some((known) => sameOrder(each, known)));
  if (alike.length === 1) return alike[0];
  throw new AmbiguousColumnError(name, found);
}

const constantTypes = ({ types, constants }: UploadMapping) =>
  Object.fromEntries([...types].filter(([key]) => constants.has(key)));

/** Fewer rows prove nothing about the next file. */
const minRows = 1000;

const required = (columns: readonly ColumnSample[], rows: number): string[] =>
  columns.filter(({ filled }) => rows >= minRows && filled === rows).map(({ name }) => name);

/** Returns the closed sets of text columns; not of default fields, whose values the service checks. */
function closedSets(
  columns: readonly ColumnSample[],
  map: ReadonlyMap<string, string>,
  { isCsv, given }: Sampled,
): NonNullable<MappingFile['values']> {
  const sets = columns.flatMap((column) => {
    const { name, isText, closedSet } = column;
    const key = map.get(name)!;
    const isTyped =
      given.types.has(name) || column.type(isCsv) !== undefined || isReachabilityFlag(key);
    if (!isText || isTyped || closedSet === undefined || profileFields.has(key)) return [];
    return [[name, closedSet] as const];
  });
  return Object.fromEntries(sets);
}

/** Yields the values of an object by their paths; see `NestedColumns`. */
function* valuesOf(
  row: object,
  around: string,
): Generator<readonly [path: string, value: unknown]> {
  for (const [name, value] of Object.entries(row) as [string, unknown][]) {
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value);
    const isPath = around !== '' || isNested;
    const path = `${around}${isPath ? name.replaceAll('.', String.raw`\.`) : name}`;
    const isOperator = isNested && Object.keys(value)[0]?.startsWith('$') !== false;
    if (isNested && !isOperator) yield* valuesOf(value, pathWithin(path));
    else yield [path, value];
  }
}

/** Maximum columns that a mapping file would list, and maximum characters of their names together. */
const most = { columns: 16_384, characters: 4 * 1024 * 1024 };

const tooMany = (what: string): EngagectlError =>
  new EngagectlError('E-USAGE', what, {
    why: 'a drafted mapping file lists every column',
    fix: 'write one by hand, with the columns that you need',
  });

/** Returns the name of a value within its innermost object. */
const nameWithin = (path: string): string =>
  path.slice((objectsAround(path)[0]?.length ?? -1) + 1).replaceAll(String.raw`\.`, '.');

/**
 * Samples flat rows; `header` is empty for JSON. Returns undefined if one of them is a
 * record of the service or of an export, which has no columns. Skips rows that are not JSON. Throws E-USAGE for columns
 * whose names would fill the memory.
 */
export function sampleRows(
  blocks: readonly RowBlock[],
  header: readonly string[],
  zone: TimeZone,
): SampledRows | undefined {
  if (exportedKind(header)) return undefined;
  const columns = new Map(header.map((name) => [name, new ColumnSample(name, zone)]));
  let rows = 0;
  let nameCharacters = 0;
  let isCsv = true;
  for (const block of blocks) {
    isCsv &&= block.cells !== undefined;
    for (let at = 0; at < block.count; at++) {
      const row = JSON.parse(sourceRecord(block, at)) as unknown;
      if (typeof row !== 'object' || row === null || Array.isArray(row)) continue;
      if (!block.cells && isRecord(row)) return undefined;
      rows += 1;
      for (const [name, value] of block.cells ? Object.entries(row) : valuesOf(row, '')) {
        let column = columns.get(name);
        if (!column) {
          nameCharacters += name.length;
          if (nameCharacters > most.characters)
            throw tooMany('the names of the columns have more than 4 MiB together');
          if (columns.size === most.columns)
            throw tooMany(`the rows have more than ${most.columns} columns`);
          const isNested = !Object.hasOwn(row, name);
          columns.set(name, (column = new ColumnSample(name, zone, isNested)));
        }
        column.add(value);
      }
    }
  }
  return { columns: [...columns.values()], rows, isCsv };
}

import { profileFields } from '../../contract/record-fields.js';
import { exportedKind } from '../exported-csv.js';
import { isRejectsColumn } from '../columns.js';
import { isReachabilityFlag, normalizeName, suggestField } from './field-spelling.js';
import { inferIdentity, ColumnSample, type SampledRows } from './column-inference.js';
import { sourceRecord } from '../rejects-input.js';
import { recordMembers } from '../upload-mapper.js';
import type { MappingFile } from '../mapping-file-schema.js';
import type { UploadMapping } from '../upload-mapping.js';
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
  const columns = sampled.columns.filter(({ name }) => !isRejectsColumn(name));
  const identity = inferIdentity({ ...sampled, columns }, given);
  if (identity === undefined && given.objectId === undefined) return undefined;
  const keys = new Set([identity, given.objectId]);
  const others = columns.filter(({ name }) => !keys.has(name));
  const isDropped = ({ name }: ColumnSample) => drop.has(name) || only?.has(name) === false;
  const sent = others.filter((column) => !isDropped(column));
  const map = keysFor(sent, given);
  const isPart = ({ name }: ColumnSample) => given.kind === 'event' && isEventPart(map.get(name));
  const data = sent.filter((column) => !isPart(column));
  const inferred: MappingFile = {
    identity,
    objectId: given.objectId,
    map: Object.fromEntries(map),
    types: { ...typesOf(data, map, { ...sampled, given }), ...constantTypes(given) },
    drop: others.filter(isDropped).map(({ name }) => name),
    set: Object.fromEntries(given.constants),
    lowercase: [...given.lowercase],
    required: required(sent, sampled.rows),
    columns: 'exact',
    values: closedSets(data, map, { ...sampled, given }),
  };
  return Object.fromEntries(Object.entries(inferred).filter(([, part]) => isFilled(part)));
}

/** Whether a member is neither undefined nor an empty list or table. */
const isFilled = (part: MappingFile[keyof MappingFile]): boolean =>
  part !== undefined && Object.keys(part).length > 0;

const isEventPart = (key: string | undefined): boolean => key === 'ts' || key === 'evtName';

/** Returns the key of each column: default fields in the service's spelling, others trimmed. */
function keysFor(columns: readonly ColumnSample[], given: UploadMapping): Map<string, string> {
  const taken = new Set(columns.map(({ name }) => given.map.get(name) ?? name));
  const keyOf = (column: ColumnSample): string => {
    const { name } = column;
    const named = given.map.get(name);
    if (named !== undefined) return named;
    const meant = meantBy(column, given) ?? name.trim();
    if (meant === name || meant === '' || taken.has(meant)) return name;
    taken.add(meant);
    return meant;
  };
  return new Map(columns.map((column) => [column.name, keyOf(column)]));
}

function meantBy(column: ColumnSample, { kind, tsNow, eventName }: UploadMapping) {
  if (kind === 'profile') return suggestField(column.name);
  const word = normalizeName(column.name);
  const isTime = tsNow === undefined && column.isTime;
  if (isTime && eventWords.ts.some((name) => name === word)) return 'ts';
  const isName = eventName === undefined && column.isText && column.filled > 0;
  return isName && eventWords.evtName.some((name) => name === word) ? 'evtName' : undefined;
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
  const types = columns.flatMap((column) => {
    const { name } = column;
    const key = map.get(name)!;
    const named = given.types.get(name);
    const type = named ?? column.type(isCsv);
    if (type === undefined || (isReachabilityFlag(key) && named === undefined)) return [];
    const isField = given.kind === 'profile' && profileFields.has(key);
    return named !== undefined || !isField || typedFields[key] === type
      ? [[name, type] as const]
      : [];
  });
  return Object.fromEntries(types);
}

const constantTypes = ({ types, constants }: UploadMapping) =>
  Object.fromEntries([...types].filter(([key]) => constants.has(key)));

const required = (columns: readonly ColumnSample[], rows: number): string[] =>
  columns.filter(({ filled }) => rows > 0 && filled === rows).map(({ name }) => name);

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

/**
 * Samples flat rows; `header` is empty for JSON. Returns undefined if one of them is a
 * record of the service or of an export, which has no columns. Skips rows that are not JSON.
 */
export function sampleRows(
  blocks: readonly RowBlock[],
  header: readonly string[],
  zone: TimeZone,
): SampledRows | undefined {
  if (exportedKind(header)) return undefined;
  const columns = new Map(header.map((name) => [name, new ColumnSample(name, zone)]));
  let rows = 0;
  let isCsv = true;
  for (const block of blocks) {
    isCsv &&= block.cells !== undefined;
    for (let at = 0; at < block.count; at++) {
      const row = JSON.parse(sourceRecord(block, at)) as unknown;
      if (typeof row !== 'object' || row === null || Array.isArray(row)) continue;
      if (!block.cells && recordMembers.some((mark) => Object.hasOwn(row, mark))) return undefined;
      rows += 1;
      for (const [name, value] of Object.entries(row)) {
        let column = columns.get(name);
        if (!column) columns.set(name, (column = new ColumnSample(name, zone)));
        column.add(value);
      }
    }
  }
  return { columns: [...columns.values()], rows, isCsv };
}

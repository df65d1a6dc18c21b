import { EngagectlError } from '../errors.js';
import { closestName } from '../did-you-mean.js';
import { quoteForShell } from '../wording.js';
import { inferIdentityByName } from './preview/column-inference.js';
import type { CellType, UploadMapping } from './upload-mapping.js';

/** What a column gives to the record: a part of its own, a member of its data, or nothing. */
export type ColumnRole = 'identity' | 'objectId' | 'ts' | 'evtName' | 'data' | 'none';

export interface Column {
  readonly name: string;
  readonly role: ColumnRole;
  /** Key it is sent as. */
  readonly key: string;
  /** Undefined when the value is sent as it stands: CSV cells as strings, JSON values as written. */
  readonly type: CellType | undefined;
  /** `,"key":` */
  readonly prefix: Buffer;
  /** The mapping file names all columns, and not this one. */
  readonly isUnexpected: boolean;
  /** That the mapping file allows; undefined: any. */
  readonly values: ReadonlySet<string> | undefined;
}

/** What the options say about the column of this name. */
export function resolveColumn(name: string, options: UploadMapping): Column {
  const key = options.map.get(name) ?? name;
  const isFlag = key.startsWith('MSG-');
  const role = roleOf(name, key, options);
  return {
    name,
    role,
    key,
    type: options.types.get(name) ?? (isFlag ? 'boolean' : undefined),
    prefix: Buffer.from(`,${JSON.stringify(key)}:`),
    isUnexpected: role === 'data' || role === 'none' ? isUnexpected(name, options) : false,
    values: options.expected?.values.get(name),
  };
}

/** Of a column that is no part of a record by itself, as the identity is. */
const isUnexpected = (name: string, options: UploadMapping): boolean =>
  options.expected?.isExact === true &&
  !optionalColumns(options).includes(name) &&
  !isRejectsColumn(name);

/** Columns that a rejects file of CSV has behind those of its input. */
export const isRejectsColumn = (name: string): boolean => /^engagectl_(?:line|error)$/.test(name);

function roleOf(name: string, key: string, options: UploadMapping): ColumnRole {
  if (options.drop.has(name) || isRejectsColumn(name)) return 'none';
  if (name === options.objectId) return 'objectId';
  if (name === options.identity) return 'identity';
  if (options.kind === 'event' && (key === 'ts' || key === 'evtName')) return key;
  return options.only === undefined || options.only.has(name) ? 'data' : 'none';
}

/**
 * The columns of a CSV's header. Throws E-COLUMN-MISSING when an option names a column that is
 * not there or a required one is missing, E-HEADER-DUPLICATE when two are sent as the same key,
 * E-USAGE when the identity is dropped, or events are named and none are sent.
 */
export function resolveColumns(
  header: readonly string[],
  options: UploadMapping,
  source: string,
): readonly Column[] {
  const { identity, identityGiven, kind } = options;
  if (kind === 'profile' && options.eventName !== undefined) throw noEvents(source);
  const missing = namedColumns(options).filter((name) => !header.includes(name));
  if (missing.length > 0) {
    const isUnnamed = missing.includes(identity) && !identityGiven;
    throw missingColumnsError(missing, header, source, isUnnamed ? identityFix(header) : undefined);
  }
  const columns = header.map((name) => resolveColumn(name, options));
  const roles = new Set(columns.map(({ role }) => role));
  if (!roles.has('identity') && !roles.has('objectId')) {
    throw new EngagectlError('E-USAGE', 'the column of the identity is dropped', {
      why: 'nothing else says whose each record is',
      fix: 'leave it out of --drop, or key by objectId with --object-id <column>',
    });
  }
  for (const { role, option, fix } of kind === 'event' ? eventColumns : []) {
    if (roles.has(role) || options[option] !== undefined) continue;
    throw missingColumnsError([role], header, source, fix);
  }
  refuseUnexpected(columns, source);
  const [first, second] = columnsWithSameKey(columns) ?? [];
  if (first && second) {
    const message = `${source}: columns "${first.name}" and "${second.name}" are both sent as "${first.key}"`;
    const fix = 'drop one with --drop <column>, or map it to another key';
    const why = 'a record holds each key once';
    throw new EngagectlError('E-HEADER-DUPLICATE', message, { why, fix, file: source, line: 1 });
  }
  return columns;
}

const noEvents = (source: string): EngagectlError =>
  new EngagectlError(
    'E-USAGE',
    `--event-name is for events, and ${source} would be sent as users`,
    {
      why: 'rows of columns are users unless the command says otherwise',
      fix: 'add --type event, or leave --event-name out',
    },
  );

/** Throws E-EXPECTED. */
function refuseUnexpected(columns: readonly Column[], source: string): void {
  const names = columns.filter((column) => column.isUnexpected).map(({ name }) => name);
  if (names.length === 0) return;
  const noun = names.length === 1 ? 'column' : 'columns';
  throw new EngagectlError('E-EXPECTED', `${source}: unexpected ${noun} ${listed(names)}`, {
    why: 'the mapping file says "columns": "exact", and names no such column',
    fix: 'take it out of the input, or name it in the mapping file: under "drop" it is not sent',
    file: source,
    line: 1,
  });
}

function identityFix(header: readonly string[]): string {
  const likely = inferIdentityByName(header);
  return likely === undefined
    ? 'name the column that holds it with --identity <column>, or key by --object-id <column>; or put a line of column names above the data'
    : `add --identity ${quoteForShell(likely)} if that column says who a row is, or name another one`;
}

/** What an event needs, and the option that stands in for the column. */
const eventColumns = [
  {
    role: 'ts',
    option: 'tsNow',
    fix: 'add the column, name it with --map <column>=ts, or use --ts now',
  },
  {
    role: 'evtName',
    option: 'eventName',
    fix: 'add the column, or name the event with --event-name <name>',
  },
] as const;

/** Columns that the user named besides the key. */
export const optionalColumns = ({ map, drop, only, types, expected }: UploadMapping): string[] => [
  ...new Set([
    ...map.keys(),
    ...drop,
    ...(only ?? []),
    ...types.keys(),
    ...(expected?.required ?? []),
    ...(expected?.values.keys() ?? []),
  ]),
];

/** Every column that the user named, and the identity unless an objectId stands in for it. */
function namedColumns(options: UploadMapping): string[] {
  const { identity, identityGiven, objectId } = options;
  const named = new Set(optionalColumns(options));
  if (identityGiven || objectId === undefined) named.add(identity);
  if (objectId !== undefined) named.add(objectId);
  return [...named];
}

/** The first two that would be sent as the same key, which no record may have twice. */
export function columnsWithSameKey(
  columns: readonly Column[],
): readonly [Column, Column] | undefined {
  const senders = new Map<string, Column>();
  for (const column of columns) {
    const { role, key } = column;
    if (role === 'none' || role === 'identity' || role === 'objectId') continue;
    const other = senders.get(key);
    if (other) return [other, column];
    senders.set(key, column);
  }
  return undefined;
}

export function missingColumnsError(
  missing: readonly string[],
  header: readonly string[],
  source: string,
  fix = 'name columns as the header does',
): EngagectlError {
  const columns = missing.length === 1 ? 'column' : 'columns';
  const near = missing
    .map((name) => closestName(name, header))
    .filter((name) => name !== undefined);
  const meant = near.length > 0 ? `; did you mean ${listed(near)}?` : '';
  const message = `${source}: ${columns} ${listed(missing)} missing${meant}`;
  const why = `the header has ${listed(header)}`;
  return new EngagectlError('E-COLUMN-MISSING', message, { why, fix, file: source, line: 1 });
}

const listed = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** The error of one cell. */
export const columnError = (name: string, fault: string): string => `column "${name}": ${fault}`;

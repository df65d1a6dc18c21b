import { namesOfPath, rejectColumns } from '../contract/file-formats.js';
import { EngagectlError } from '../errors.js';
import { closestName } from '../did-you-mean.js';
import { quoteForShell } from '../wording.js';
import { JsonParser, jsonToken } from '../text/json-parser.js';
import { JsonWriter } from '../text/json-writer.js';
import { inferIdentityByName } from './preview/column-inference.js';
import type { CellType, UploadMapping } from './upload-mapping.js';

/** How a column is used: as a part of the record, as a member of its data, or not at all. */
export type ColumnRole = 'identity' | 'objectId' | 'ts' | 'evtName' | 'data' | 'none';

export interface Column {
  readonly name: string;
  readonly role: ColumnRole;
  /** Key under which it is sent. */
  readonly key: string;
  /** Undefined if the value is sent unchanged: CSV cells as strings, JSON values as written. */
  readonly type: CellType | undefined;
  /** `,"key":` */
  readonly prefix: Buffer;
  /** Whether the mapping file lists all columns, but not this one. */
  readonly isUnexpected: boolean;
  /** Values that the mapping file allows; undefined: any. */
  readonly values: ReadonlySet<string> | undefined;
  /** Whether its texts are sent in lower case. */
  readonly isLowercased: boolean;
}

/**
 * Resolves the options for the column of this name. `isPath`: it is the path of a value in nested objects, which is
 * also selected by the name of an object around it.
 */
export function resolveColumn(name: string, options: UploadMapping, isPath = false): Column {
  const around = isPath ? objectsAround(name, options) : [];
  const object = around.find((path) => options.only?.has(path));
  const selected = object ?? name;
  const key = options.map.get(name) ?? (isPath ? keyOfPath(name, object) : name);
  const role = around.some((path) => options.drop.has(path))
    ? 'none'
    : roleOf(name, key, selected, options);
  return {
    name,
    role,
    key,
    type: options.types.get(name) ?? defaultType(key),
    prefix: Buffer.from(`,${JSON.stringify(key)}:`),
    isUnexpected: role === 'data' || role === 'none' ? isUnexpected(name, options) : false,
    values: options.expected?.values.get(name),
    isLowercased: options.lowercase.has(name),
  };
}

/** Returns the type of values sent under a key that have none: an opt-out is never sent as text. */
export const defaultType = (key: string): CellType | undefined =>
  key.startsWith('MSG-') ? 'boolean' : undefined;

/** Whether the mapping file excludes the column; not for parts of the record such as the identity. */
const isUnexpected = (name: string, options: UploadMapping): boolean =>
  options.expected?.isExact === true && !isNamed(name, options) && !rejectColumns.includes(name);

/** Whether the options name the column. A list of all of them would be made for each of many names. */
const isNamed = (name: string, options: UploadMapping): boolean =>
  namesIn(options).some((names) => names.has(name));

/** Returns the key of a value in nested objects: its path, or the part of it within an object that --only names. */
const keyOfPath = (path: string, object: string | undefined): string =>
  (object === undefined ? path : path.slice(object.length + 1)).replaceAll(String.raw`\.`, '.');

/** Returns the paths of the objects that contain a value, the innermost first; none if no option selects objects. */
export function objectsAround(
  path: string,
  options?: Pick<UploadMapping, 'only' | 'drop'>,
): string[] {
  if (options && options.only === undefined && options.drop.size === 0) return [];
  const dots = [...path.matchAll(/(?<!\\)\./g)];
  return dots.toReversed().map(({ index }) => path.slice(0, index));
}

function roleOf(name: string, key: string, selected: string, options: UploadMapping): ColumnRole {
  if (options.drop.has(name) || rejectColumns.includes(name)) return 'none';
  if (name === options.objectId) return 'objectId';
  if (name === options.identity && isIdentityUsed(options)) return 'identity';
  if (options.kind === 'event' && (key === 'ts' || key === 'evtName')) return key;
  return options.only === undefined || options.only.has(selected) ? 'data' : 'none';
}

/** Whether the column of the identity is a key: an objectId that options name is used instead, unless they name both. */
const isIdentityUsed = ({ identityGiven, objectId }: UploadMapping): boolean =>
  identityGiven || objectId === undefined;

/**
 * Resolves the columns of a CSV header. Throws E-COLUMN-MISSING if an option names a column that does
 * not exist or a required one is missing, E-HEADER-DUPLICATE if two are sent under the same key or one under
 * that of --set, and E-USAGE if the identity is dropped, or if --event-name is given for profiles.
 */
export function resolveColumns(
  header: readonly string[],
  options: UploadMapping,
  source: string,
): readonly Column[] {
  const { identity, identityGiven, kind } = options;
  if (kind === 'profile' && options.eventName !== undefined) throw noEvents(source);
  const present = new Set(header);
  const missing = namedColumns(options).filter((name) => !present.has(name));
  if (missing.length > 0) {
    const isUnnamed = missing.includes(identity) && !identityGiven;
    throw missingColumnsError(missing, header, source, isUnnamed ? identityFix(header) : undefined);
  }
  const columns = header.map((name) => resolveColumn(name, options));
  const roles = new Set(columns.map(({ role }) => role));
  if (!roles.has('identity') && !roles.has('objectId')) {
    throw new EngagectlError('E-USAGE', 'the identity column is dropped', {
      why: 'a record needs an identity or an objectId',
      fix: 'remove it from --drop, or set the column of the objectId with --object-id <column>',
    });
  }
  for (const { role, option, fix } of kind === 'event' ? eventColumns : []) {
    if (roles.has(role) || options[option] !== undefined) continue;
    throw missingColumnsError([role], header, source, fix);
  }
  refuseUnexpected(columns, source);
  const [first, second] = columnsWithSameKey(columns) ?? [];
  if (first && second) {
    const message = `${source}: columns ${JSON.stringify(first.name)} and ${JSON.stringify(second.name)} are both sent as ${JSON.stringify(first.key)}`;
    const fix = 'drop one with --drop <column>, or map it to another key';
    const why = 'a record has each key only once';
    throw new EngagectlError('E-HEADER-DUPLICATE', message, { why, fix, file: source, line: 1 });
  }
  const overridden = columns.find(({ role, key }) => role === 'data' && options.constants.has(key));
  if (overridden) {
    const { name, key } = overridden;
    const message = `${source}: column ${JSON.stringify(name)} is sent as ${JSON.stringify(key)}, which --set also sets`;
    throw new EngagectlError('E-HEADER-DUPLICATE', message, {
      why: 'a record has each key only once',
      fix: `leave the column out with --drop ${quoteForShell(name)}, or set another key`,
      file: source,
      line: 1,
    });
  }
  return columns;
}

const noEvents = (source: string): EngagectlError =>
  new EngagectlError(
    'E-USAGE',
    `--event-name is for events, but ${source} would be sent as profiles`,
    {
      why: 'rows are profiles by default',
      fix: 'add --type event, or remove --event-name',
    },
  );

/** Throws E-EXPECTED. */
function refuseUnexpected(columns: readonly Column[], source: string): void {
  const names = columns.filter((column) => column.isUnexpected).map(({ name }) => name);
  if (names.length === 0) return;
  const noun = names.length === 1 ? 'column' : 'columns';
  throw new EngagectlError('E-EXPECTED', `${source}: unexpected ${noun} ${quotedList(names)}`, {
    why: 'the mapping file has "columns": "exact" and does not list it',
    fix: 'add it to the mapping file (to "drop" if it should not be sent), or remove it from the input',
    file: source,
    line: 1,
  });
}

function identityFix(header: readonly string[]): string {
  const [name = ''] = header;
  const delimiter = header.length === 1 ? /[,;|:]/.exec(name)?.[0] : undefined;
  if (delimiter !== undefined) return `set the delimiter: --delimiter ${quoteForShell(delimiter)}`;
  if (/^'.*'$/s.test(name))
    return "put cells between double quotes; in CSV, ' is a part of the text";
  const likely = inferIdentityByName(header);
  return likely === undefined
    ? 'set the identity column with --identity <column>, or the objectId column with --object-id <column>; or add a header line, or skip what is above it: --skip-lines <count>'
    : `add --identity ${quoteForShell(likely)} if that column identifies the user, or name another one`;
}

/** Required columns of events, and the options that replace them. */
const eventColumns = [
  {
    role: 'ts',
    option: 'tsNow',
    fix: 'add the column, name it with --map <column>=ts, or use --ts now',
  },
  {
    role: 'evtName',
    option: 'eventName',
    fix: 'add the column, name it with --map <column>=evtName, or use --event-name <name> for all events',
  },
] as const;

/** Names of columns: a Set or a Map of them, or a part of one. */
interface Names {
  has(name: string): boolean;
  keys(): Iterable<string>;
}

/** Returns the columns that the options name besides the key, option by option. */
const namesIn = ({
  map,
  drop,
  only,
  types,
  constants,
  lowercase,
  expected,
}: UploadMapping): readonly Names[] => [
  map,
  drop,
  ...(only ? [only] : []),
  {
    has: (name) => types.has(name) && !constants.has(name),
    keys: () => [...types.keys()].filter((name) => !constants.has(name)),
  },
  lowercase,
  ...(expected ? [expected.required, expected.values] : []),
];

/** Returns the columns that the options name besides the key. */
export const optionalColumns = (options: UploadMapping): string[] => [
  ...new Set(namesIn(options).flatMap((names) => [...names.keys()])),
];

/** Returns the columns of JSON records that the options name; each must occur. */
export const columnsOfJson = (options: UploadMapping): string[] => [
  ...(options.identityGiven ? [options.identity] : []),
  ...(options.objectId === undefined ? [] : [options.objectId]),
  ...optionalColumns(options),
];

/** Returns all columns that the options name, with the identity unless an objectId replaces it. */
function namedColumns(options: UploadMapping): string[] {
  const { identity, objectId } = options;
  const named = new Set(optionalColumns(options));
  if (isIdentityUsed(options)) named.add(identity);
  if (objectId !== undefined) named.add(objectId);
  return [...named];
}

/** Returns the first two columns that would be sent under the same key, if any. */
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

/** Maximum missing columns for which the message names one that was probably meant. */
const mostMeant = 10;

export function missingColumnsError(
  missing: readonly string[],
  header: readonly string[],
  source: string,
  fix = 'use the names of the header; if it is further down, skip what is above it: --skip-lines <count>',
): EngagectlError {
  const columns = missing.length === 1 ? 'column' : 'columns';
  const near = missing
    .slice(0, mostMeant)
    .map((name) => closestName(name, header))
    .filter((name) => name !== undefined);
  const meant = near.length > 0 ? `; did you mean ${quotedList(near)}?` : '';
  const message = `${source}: ${columns} ${quotedList(missing)} missing${meant}`;
  const why = `the header has ${quotedList(header)}`;
  return new EngagectlError('E-COLUMN-MISSING', message, { why, fix, file: source, line: 1 });
}

const quotedList = (names: readonly string[]): string =>
  names.map((name) => JSON.stringify(name)).join(', ');

/** Returns the error of one cell. */
export const columnError = (name: string, failure: string): string =>
  `column ${JSON.stringify(name)}: ${failure}`;

/** Maximum characters of the paths of a record. A path repeats the names around a value, so that few bytes have long paths. */
const mostPaths = 4 * 1024 * 1024;

/** Reads values in nested objects as columns that are named by their paths; `\.` is a dot within a name. */
export class NestedColumns {
  /** Whether a record with nested objects, or with dots in its names, is flattened. */
  readonly isUsed: boolean;
  readonly #named: ReadonlySet<string>;
  readonly #types: UploadMapping['types'];
  readonly #out = new JsonWriter();
  /** Path that an option names, of which the record has the name as well as the first object. */
  #ambiguous: string | undefined;
  /** Characters of the paths of the record. */
  #paths = 0;
  /** Parser of all nested objects: one for each depth would take the memory of the record 200 times. */
  readonly #parser = new JsonParser();

  /** `columns` are those that options name; `only`: other columns may be selected by the objects around them. */
  constructor(
    columns: readonly string[],
    { types = new Map(), only }: Partial<Pick<UploadMapping, 'types' | 'only'>> = {},
  ) {
    this.#named = new Set(columns);
    this.#types = types;
    this.isUsed = only !== undefined || columns.some((name) => name.includes('.'));
  }

  /**
   * Parses the object that `json` has parsed again, with all values in nested objects as members. Returns why it cannot:
   * two values have one path, or the paths are too long. The row of a table has no paths: its names are columns.
   */
  flatten(json: JsonParser): string | undefined {
    if (!this.isUsed || !this.#isNested(json)) return undefined;
    this.#ambiguous = undefined;
    this.#out.length = this.#paths = 0;
    this.#write(json.bytes, membersOf(json), '');
    if (this.#paths > mostPaths) return 'the paths of its values have more than 4 MiB together';
    if (this.#ambiguous !== undefined) return ambiguousPath(this.#ambiguous);
    this.#out.byte(jsonToken.closeObject);
    const flattened = Buffer.from(this.#out.bytes.subarray(0, this.#out.length));
    return json.read(flattened, 0, flattened.length) ? undefined : `JSON ${json.failure}`;
  }

  #isNested(json: JsonParser): boolean {
    for (let index = 0; index < json.count; index++) {
      if (json.kindOf(index) === jsonToken.openObject) return true;
      const key = json.bytes.subarray(json.keyStart(index), json.keyEnd(index));
      if (key.includes(0x2e) || key.includes(0x5c)) return true; // a dot may be an escape
    }
    return false;
  }

  #write(bytes: Buffer, members: readonly NestedMember[], around: string): void {
    const out = this.#out;
    for (const member of members) {
      const { name, start, end, isObject } = member;
      const literal = name.includes('.') ? name.replaceAll('.', String.raw`\.`) : name;
      const isNamed = around === '' && this.#isNamedPath(name, literal, members);
      const path = `${around}${isNamed ? name : literal}`;
      const isParsed = isObject && this.#types.get(path) !== 'json';
      const within = isParsed ? pathWithin(path) : '';
      const inner = isParsed ? this.#membersIn(bytes, member, within) : undefined;
      if (inner) this.#write(bytes, inner, within);
      else this.#paths += path.length;
      if (this.#paths > mostPaths) return;
      if (inner) continue;
      out.byte(out.length === 0 ? jsonToken.openObject : jsonToken.comma);
      out.string(path);
      out.byte(0x3a);
      out.raw(bytes, start, end);
    }
  }

  /**
   * Whether a name with dots is the path that an option names. A record may not have it beside an object of that path, or
   * what is in its place: whoever writes the one must not be able to stand in for the other.
   */
  #isNamedPath(name: string, literal: string, members: readonly NestedMember[]): boolean {
    if (!this.#named.has(name) || this.#named.has(literal)) return false;
    const [first] = namesOfPath(name);
    if (members.some((other) => other.name === first)) this.#ambiguous = name;
    return true;
  }

  /**
   * Parses an object; undefined for {} and for operators such as $incr, which are values. An object with a member that an
   * option names is none.
   */
  #membersIn(
    bytes: Buffer,
    { start, end }: NestedMember,
    within: string,
  ): NestedMember[] | undefined {
    const parser = this.#parser;
    parser.read(bytes, start, end);
    if (parser.count === 0) return undefined;
    const isOperator = parser.nameAt(0).startsWith('$'); // its $ may be escaped
    if (isOperator && ![...this.#named].some((path) => path.startsWith(within))) return undefined;
    return membersOf(parser);
  }
}

/**
 * Start of the paths within an object. A backslash at the end of its name does not escape the dot. Looks for the end of each
 * run of backslashes only from its start: from each of them, it would take quadratic time.
 */
export const pathWithin = (path: string): string => `${path.replace(/(?<!\\)\\+$/, '$&$&')}.`;

const ambiguousPath = (path: string): string =>
  `it has the name ${JSON.stringify(path)} beside ${JSON.stringify(namesOfPath(path)[0])}, and either may be meant: remove one of them`;

/** A member of an object, of which the parser may have read another one since. */
interface NestedMember {
  readonly name: string;
  /** Bounds of the value. */
  readonly start: number;
  readonly end: number;
  readonly isObject: boolean;
}

function membersOf(json: JsonParser): NestedMember[] {
  const members: NestedMember[] = [];
  for (let index = 0; index < json.count; index++) {
    const name = json.nameAt(index);
    const isObject = json.kindOf(index) === jsonToken.openObject;
    members.push({ name, start: json.valueStart(index), end: json.valueEnd(index), isObject });
  }
  return members;
}

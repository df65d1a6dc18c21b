import { EngagectlError } from '../errors.js';
import { typedColumns } from '../text/json-flattener.js';
import { quoteValue, TextSlice } from '../text/text-slice.js';
import type { JsonParser } from '../text/json-parser.js';
import type { Cells, RowBlock } from '../input/row-block.js';
import {
  booleanOf,
  cleanText,
  noBoolean,
  placeholderReason,
  type CellCleaning,
} from '../text/cell-cleaning.js';
import { rejectColumns } from '../contract/file-formats.js';
import type { Column } from './columns.js';
import type { UploadMapping } from './upload-mapping.js';

/** Columns that only a CSV export has, and the kinds of its records; other programs count under the name `events`. */
const marks = {
  event: /^(?:event_props|profile)(?:\.|$)/,
  profile: /^(?:profileData|all_identities)(?:\.|$)/,
} as const;

/**
 * Returns which records a CSV contains that `export-profiles` or `export-events` wrote, by its header; undefined for
 * any other CSV, and for one whose columns the user maps.
 */
export function exportedKind(
  header: readonly string[],
  options?: UploadMapping,
): keyof typeof marks | undefined {
  if (options && isMappedByUser(options)) return undefined;
  const isUpload = header.includes('identity') && header.includes('evtName'); // exported events have neither
  if (!isUpload && header.includes('ts') && header.some((name) => marks.event.test(name)))
    return 'event';
  if (options && isEventRow((name) => header.includes(name), options)) return undefined;
  return header.some((name) => marks.profile.test(name)) ? 'profile' : undefined;
}

/** Whether a row is an event, as `--type event` says, although it has members of an exported profile, which is none. */
export const isEventRow = (
  has: (name: string) => boolean,
  { kind, eventName, tsNow }: UploadMapping,
): boolean =>
  kind === 'event' &&
  (eventName !== undefined || tsNow !== undefined || has('ts') || has('evtName'));

/** Whether an option names a column, so that records are rows of columns. */
export const isMappedByUser = (options: UploadMapping): boolean =>
  options.identityGiven ||
  options.objectId !== undefined ||
  options.only !== undefined ||
  options.expected !== undefined ||
  [options.map, options.drop, options.types, options.constants, options.lowercase].some(
    ({ size }) => size > 0,
  );

/** Columns of exported records beside the marks. */
const others = {
  event: /^(?:ts|ts_utc|event_name|(?:events|session_props)(?:\..*)?)$/,
  profile: /^(?:identity|objectId|email|name|phone|(?:events|platformInfo|reachability)(?:\..*)?)$/,
} as const;

/** Columns that identify the user. */
const keyColumns = { event: 'profile.identity', profile: 'identity' } as const;

/**
 * Throws E-COLUMN-MISSING for a CSV export whose identity column has another spelling: its records would be those of their
 * devices.
 */
export function refuseRespelledKey(header: readonly string[], source: string): void {
  const kind = exportedKind(header);
  const key = kind && keyColumns[kind];
  if (key === undefined || header.includes(key)) return;
  const spelled = header.find((name) => lettersOf(name) === lettersOf(key));
  if (spelled === undefined) return;
  throw new EngagectlError(
    'E-COLUMN-MISSING',
    `${source}: an export without the column "${key}", but with ${JSON.stringify(spelled)}`,
    {
      file: source,
      line: 1,
      why: 'its records would be those of the devices, not of the users',
      fix: `name the column "${key}" again`,
    },
  );
}

const isKey = (name: string): boolean => name === keyColumns.event || name === keyColumns.profile;

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Warns that options make a CSV export an ordinary table, whose columns keep their long names. */
export function exportAsTable(header: readonly string[], columns: readonly Column[]): string[] {
  const long = /^(?:profileData|event_props)\./;
  const sent = columns.find(({ role, key }) => role === 'data' && long.test(key));
  if (!sent || exportedKind(header) === undefined) return [];
  return [
    `the header is that of an export, but options name columns, so that it is read as an ordinary CSV: ${JSON.stringify(sent.key)} is sent under this name`,
  ];
}

/** Warns of columns that somebody added to a CSV export: they are not sent. */
export function unsentColumns(header: readonly string[], options: UploadMapping): string[] {
  const kind = exportedKind(header, options);
  if (kind === undefined) return [];
  const added = header.filter(
    (name) => !marks[kind].test(name) && !others[kind].test(name) && !rejectColumns.includes(name),
  );
  const data = kind === 'event' ? 'event_props' : 'profileData';
  return added.map(
    (name) =>
      `column ${JSON.stringify(name)} is not sent, because exports have none: name it ${JSON.stringify(`${data}.${name}`)}`,
  );
}

/** Warning about rows of an export that another program has saved with every cell in quotes. */
export const guessedTypes =
  'rows have every cell in quotes, which show no types there: text that looks like a number, a boolean, [] or {} is sent as such; let the program quote text only, or use an NDJSON export';

/** Columns that are strings, whatever they look like. */
const textColumns =
  /^(?:identity|email|name|phone|event_name|profile\.(?:identity|objectId)|profileData\.(?:Name|Email|Phone))$/;

/** Nested members of a record, by name; a name may have a value of its own in some rows, and members in others. */
interface Place {
  column: number | undefined;
  readonly members: Map<string, Place>;
}

const noPlace = (): Place => ({ column: undefined, members: new Map() });

/** Flags of addresses: a spreadsheet writes `FALSE`, and an opt-out is never sent as text (contract §2). */
const flagColumn = /^profileData\.MSG-/;

/** Builds the JSON texts of exported records from columns such as `profileData.City`. */
export class ExportedRecords {
  /** Why the record that was built last is rejected. */
  failure: string | undefined;
  readonly #root = noPlace();
  readonly #names: readonly string[];
  /** Columns of flags. */
  readonly #flags = new Set<number>();

  readonly #onGuess: (() => void) | undefined;

  /** `onGuess` is called for rows that show no types; see `exportedValues`. */
  constructor(columns: readonly string[], onGuess?: () => void) {
    this.#names = columns;
    this.#onGuess = onGuess;
    for (const [index, name] of columns.entries()) {
      if (flagColumn.test(name)) this.#flags.add(index);
      let place = this.#root;
      for (const part of pathOf(name)) {
        const next = place.members.get(part) ?? noPlace();
        place.members.set(part, next);
        place = next;
      }
      place.column = index;
    }
    // a CSV of events without properties has no column of them
    if (exportedKind(columns) === 'event' && !this.#root.members.has('event_props'))
      this.#root.members.set('event_props', noPlace());
  }

  /** Returns the record of a row of the CSV. */
  ofCells(rows: RowBlock, cells: Cells, row: number): string {
    const header = this.#names;
    const values = exportedValues(rows, { header, bounds: cells.bounds }, row, this.#onGuess);
    return this.of((index) => values[index], rows.cleaning);
  }

  /** Returns the record whose values are these JSON texts by column; undefined: none. */
  of(value: (column: number) => string | undefined, cleaning: CellCleaning | undefined): string {
    this.failure = undefined;
    const list = this.#names.indexOf('all_identities');
    const valueOf = (column: number) => {
      const name = this.#names[column]!;
      if (this.#flags.has(column)) return this.#flag(value(column), name);
      if (!isKey(name)) return value(column);
      this.failure ??= identityFailure(value(column), { name, list: value(list), cleaning });
      return value(column);
    };
    const parts = [...this.#root.members].flatMap(([name, place]) => {
      const isData = name === 'profileData' || name === 'event_props';
      const text = textOf(place, valueOf) ?? (isData ? '{}' : undefined);
      return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
    });
    return `{${parts.join(',')}}`;
  }

  #flag(text: string | undefined, name: string): string | undefined {
    if (text === undefined) return undefined;
    const value = String(JSON.parse(text));
    const flag = booleanOf(value);
    if (flag === undefined) this.failure ??= `${name}: ${quoteValue(value)} ${noBoolean}`;
    return flag ?? text;
  }
}

/**
 * Returns why an identity, as JSON text, that `all_identities` does not list may be of another user: its apostrophe may be
 * that of `--csv-formulas escape`, or it is a placeholder, or a program has changed it.
 */
function identityFailure(
  text: string | undefined,
  of: {
    readonly name: string;
    /** JSON text of `all_identities`. */
    readonly list: string | undefined;
    readonly cleaning: CellCleaning | undefined;
  },
): string | undefined {
  const identity = text?.startsWith('"') ? (JSON.parse(text) as string) : '';
  const bytes = Buffer.from(identity);
  const reason =
    withoutApostrophe(identity) === identity
      ? placeholderReason(slice.ofCell(bytes, 0, bytes.length), of.cleaning)
      : 'has an apostrophe that may be that of --csv-formulas escape, before another user: upload an NDJSON export';
  if (reason === undefined || identitiesIn(of.list).includes(identity)) return undefined;
  return `${of.name}: ${quoteValue(identity)} ${reason}`;
}

/** Returns the JSON text of a place; undefined if neither it nor its members have a value. */
function textOf(
  { column, members }: Place,
  value: (column: number) => string | undefined,
): string | undefined {
  const own = column === undefined ? undefined : value(column);
  if (own !== undefined || members.size === 0) return own;
  const parts: string[] = [];
  for (const [name, place] of members) {
    const text = textOf(place, value);
    if (text !== undefined) parts.push(`${JSON.stringify(name)}:${text}`);
  }
  return parts.length > 0 ? `{${parts.join(',')}}` : undefined;
}

/** Maximum names of a path that are nested. A record is rejected at 200, but one of some thousands would exhaust the stack. */
const mostNames = 1000;

/**
 * Splits a column such as `profileData.a\.b` into its names. Only dots and backslashes are escaped: any other backslash is
 * text, so that no column `i\dentity` takes the place of `identity`.
 */
function pathOf(column: string): string[] {
  const names = [''];
  for (const [part] of column.matchAll(/\\[.\\]|./gsu)) {
    if (part === '.') names.push('');
    else names.push(names.pop()! + part.replace(/^\\(?=.)/su, ''));
  }
  if (names.length <= mostNames) return names;
  return [...names.slice(0, mostNames), names.slice(mostNames).join('.')];
}

/**
 * Returns why a row of a CSV export has another identity than the user who was exported: a spreadsheet makes `7` of
 * `007`, and rounds long numbers. The list beside it, `all_identities`, is text that no spreadsheet changes.
 */
export function changedIdentity(json: JsonParser): string | undefined {
  const [at, listAt] = [json.find('identity'), json.find('all_identities')];
  if (listAt < 0) return undefined;
  const list = json.valueText(listAt);
  if (at < 0) return lostIdentity(list);
  const text = json.valueText(at);
  if (list === `[${text}]`) return undefined; // the only identity, as of most users
  const identity = JSON.parse(text) as unknown;
  const why = typeof identity === 'string' ? unlistedIdentity(identity, list) : undefined;
  return why && `identity: ${why}`;
}

/** Returns why a row without an identity is one of a user who has some: a program may take `NA` for no value. */
function lostIdentity(list: string): string | undefined {
  const known = identitiesIn(list);
  return known.length === 0
    ? undefined
    : `identity: it is empty, but all_identities is ${JSON.stringify(known)}; a program may have taken it for a missing value (if it is meant, remove the column all_identities)`;
}

/** Returns why an identity is not one of the JSON text of a list, if that has any. */
export function unlistedIdentity(identity: string, list: string): string | undefined {
  const known = identitiesIn(list);
  if (known.length === 0) return undefined;
  // A spreadsheet makes TRUE of true.
  const spelling = (text: string) =>
    /^(?:true|false)$/i.test(identity) ? text : text.toLowerCase();
  const isOf = (name: unknown): boolean => spelling(String(name)) === spelling(identity);
  if (known.some(isOf)) return undefined;
  return `${JSON.stringify(identity)} is not one of all_identities ${JSON.stringify(known)}; a spreadsheet may have changed it (if it is meant, remove the column all_identities)`;
}

const slice = new TextSlice();
/** JSON numbers, booleans, and empty objects; longer numbers are rather ids. */
const scalar = /^(?:true|false|\{\s*\}|-?(?:0|[1-9]\d{0,15})(?:\.\d+)?(?:[eE][-+]?\d+)?)$/;
/** Text that an export does not quote. */
const plainText = /^[\w@.+-]*$/;
const quote = 0x22;

/**
 * Returns the JSON texts of a row by column; undefined: an empty cell. An export quotes text that looks like another
 * value, so quotes around such a cell show text. They show nothing in a row of a program that quotes every cell, and
 * around lists with commas or quotes: there, text becomes the value that it looks like. `onGuess` is called for such a row.
 */
export function exportedValues(
  { bytes }: Pick<RowBlock, 'bytes'>,
  { header, bounds }: Pick<Cells, 'header' | 'bounds'>,
  row: number,
  onGuess?: () => void,
): readonly (string | undefined)[] {
  const first = 2 * row * header.length;
  const startOf = (column: number): number => bounds[first + 2 * column]!;
  const textAt = (column: number): string =>
    slice.ofCell(bytes, startOf(column), bounds[first + 2 * column + 1]!).toString();
  const isQuoted = (column: number): boolean => bytes[startOf(column) - 1] === quote;
  const quotesText = header.some(
    (name, column) =>
      !typedColumns.test(name) && isQuoted(column) && plainText.test(textAt(column)),
  );
  // It may quote text only: then, numbers and booleans have no quotes.
  const quotesAll =
    quotesText &&
    !header.some(
      (name, column) => typedColumns.test(name) && !isQuoted(column) && scalar.test(textAt(column)),
    );
  const list = header.indexOf('all_identities');
  const isListed = (identity: string): boolean =>
    list >= 0 && identitiesIn(textAt(list)).includes(identity);
  return header.map((name, column) => {
    if (startOf(column) === bounds[first + 2 * column + 1]) return undefined;
    const text = textAt(column);
    const isMarked = isQuoted(column) && !quotesAll && !/[",\r\n]/.test(text);
    const isText = isMarked || textColumns.test(name);
    // Line ends are between tokens there; in a rejects file they would begin lines that somebody else wrote.
    if (!isText && quotesAll && isQuoted(column) && scalar.test(text)) onGuess?.();
    if (!isText && (scalar.test(text) || (text.startsWith('[') && isJson(text))))
      return text.replaceAll(/[\r\n]+/g, '');
    const plain = withoutApostrophe(text);
    const isKept = plain !== text && isKey(name) && !isListed(plain);
    return JSON.stringify(isKept ? text : plain);
  });
}

/** Returns the JSON text of a column in a line of an NDJSON rejects file, cleaned as its cell was; undefined if it is empty. */
export function cleanedValue(
  json: JsonParser,
  index: number,
  cleaning: CellCleaning | undefined,
): string | undefined {
  if (json.isEmptyAt(index)) return undefined;
  const text = json.valueText(index);
  if (!cleaning) return text;
  const isString = json.stringAt(index, slice) !== undefined;
  if (!isString) slice.ofCell(json.bytes, json.valueStart(index), json.valueEnd(index));
  const { start, end } = slice;
  if (cleanText(slice, cleaning).isEmpty) return undefined;
  const isCleaned = slice.start !== start || slice.end !== end;
  return isString && isCleaned ? JSON.stringify(slice.toString()) : text;
}

/** Returns the identities of an exported profile, which show whether an apostrophe belongs to one. */
function identitiesIn(list = ''): readonly unknown[] {
  const known = isJson(list) ? (JSON.parse(list) as unknown) : [];
  return Array.isArray(known) ? known : [];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Numbers and phone numbers, which `--csv-formulas escape` exempts, as in `wasm/csv-cell-writer.ts`. */
const signedNumber = /^ *[-+][\d .,()/-]*\d(?:[eE][-+]?\d+)?$/;

/** Whether `--csv-formulas escape` puts an apostrophe before a text. */
const isFormula = (text: string): boolean =>
  (text.charCodeAt(0) < 0x20 || /^ *[=@+＝＠＋－-]/.test(text)) && !signedNumber.test(text);

/** Removes the apostrophe that `--csv-formulas escape` put before a formula. */
const withoutApostrophe = (text: string): string =>
  text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text;

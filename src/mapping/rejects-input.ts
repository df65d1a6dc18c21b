import { EngagectlError } from '../errors.js';
import { placeholderAdvice } from '../text/cell-cleaning.js';
import { TextSlice } from '../text/text-slice.js';
import { jsonToken, JsonParser } from '../text/json-parser.js';
import {
  BEYOND,
  CsvProgram,
  CsvScanner,
  dialectError,
  standardCells,
} from '../text/csv-scanner.js';
import { filterRecords, type RejectReason, type Mapper, type RejectedRow } from './record-block.js';
import { exportedValues } from './exported-csv.js';
import {
  cutMark,
  cutTextBytes,
  isCutRejectText,
  linesInOne,
  namesOfPath,
  rejectColumns,
  rejectTextBytes,
} from '../contract/file-formats.js';
import type { RowBlock } from '../input/row-block.js';

const stages = new Set(['parse', 'validate', 'service', 'unknown', 'alreadySent', 'notSent']);
/** Members that a line of a rejects file may have. */
const rejectMembers = new Set(
  'source line stage code error record recordBase64 columns delimiter quote escape'.split(' '),
);
const stageText = new TextSlice();
const LF = 10;

/** Which lines of a rejects file are read as records. */
export interface RejectsReading {
  readonly retryUnknown: boolean;
  readonly again?: boolean;
  /** Columns that identify what is written. */
  readonly columns?: readonly string[];
  /** Whether a header is read as that of a CSV export; see Mapper. */
  readonly isExport?: ((header: readonly string[]) => boolean) | undefined;
  /** Called with each line of a rejects file that contains the record, the innermost last. */
  readonly onLine?: (json: JsonParser) => void;
}

/**
 * Parses the row as JSON. For a line of a rejects file (contract §2, Rejects file), `json`
 * contains the inner record afterwards. Returns why there is no record to send, or undefined.
 */
export function readInputRecord(
  json: JsonParser,
  { bytes, bounds }: RowBlock,
  row: number,
  reading: RejectsReading,
): RejectReason | undefined {
  if (!json.readFrom(bytes, bounds[2 * row]!, bounds[2 * row + 1]!)) {
    return { stage: json.repeatsKey ? 'validate' : 'parse', error: jsonErrorMessage(json) };
  }
  const stage = rejectsStage(json);
  return stage === undefined ? heldBackObject(json, reading) : unwrap(json, stage, reading);
}

/** Returns why the row of a CSV rejects file is not sent that another program has converted to JSON. */
function heldBackObject(json: JsonParser, reading: RejectsReading): RejectReason | undefined {
  if (json.find('engagectl_error') < 0) return undefined;
  const header = Array.from({ length: json.count }, (_, at) => json.nameAt(at));
  const cell = (at: number): string =>
    json.stringAt(at, stageText)?.toString() ?? json.valueText(at);
  return heldBackReason(header, cell, reading);
}

/** Whether `readInputRecord` has read the record of a line of a rejects file; a corrected text has bytes of its own. */
export function isUnwrapped(json: JsonParser, { bytes, bounds }: RowBlock, row: number): boolean {
  let start = bounds[2 * row]!;
  while (bytes[start]! <= 0x20) start += 1;
  return json.bytes !== bytes || json.start !== start;
}

/** Unwraps rejects lines, which are nested if one of a rejects file was rejected itself. Each of them says what may be sent. */
function unwrap(
  json: JsonParser,
  stage: string | undefined,
  reading: RejectsReading,
): RejectReason | undefined {
  const { retryUnknown, again = true, columns } = reading;
  const column = columns?.find((name) => rejectMembers.has(namesOfPath(name)[0]!));
  while (stage !== undefined) {
    if (stage === 'unknown' && !retryUnknown) return unknownOutcomeError;
    if (stage === 'alreadySent' && !again) return alreadySentError;
    if (column !== undefined) return ambiguous(column);
    reading.onLine?.(json);
    const index = json.find('record');
    if (index < 0) return undecodable;
    const error = json.find('error');
    const misplaced = error < 0 ? undefined : misplacedBefore(json.valueText(error));
    if (misplaced) return misplaced;
    if (isRawText(json, stage, index)) {
      const corrected = correctedText(json, index, reading);
      if (typeof corrected !== 'string') return corrected;
      const bytes = Buffer.from(corrected);
      if (!json.readFrom(bytes, 0, bytes.length)) return unreadable(jsonErrorMessage(json));
      stage = rejectsStage(json);
      continue;
    }
    json.readFrom(json.bytes, json.valueStart(index), json.valueEnd(index));
    stage = rejectsStage(json);
  }
  return undefined;
}

/** Whether the record is an unparsed text: a parse error, or a line that was held back, and not a string. */
const isRawText = (json: JsonParser, stage: string, record: number): boolean =>
  json.kindOf(record) === jsonToken.quote && (stage === 'parse' || json.find('columns') >= 0);

/** Reason for not sending a record of unknown outcome by default. */
const unknownOutcomeError = {
  stage: 'unknown',
  error: 'its outcome in an earlier run is unknown: --retry-unknown resends it',
} as const satisfies RejectReason;

/** Reason for not sending an event that another run sent. */
const alreadySentError = {
  stage: 'alreadySent',
  error: 'another run sent this event: --again resends it',
} as const satisfies RejectReason;

/** Whoever writes members beside a column such as `code` must not be able to choose another user with `record`. */
const ambiguous = (column: string): RejectReason => ({
  stage: 'validate',
  error: `it may be a line of a rejects file, or a record with a column ${JSON.stringify(column)} of its own: rename the column, or send the records alone (jq -c .record)`,
});

const unreadable = (error: string): RejectReason => ({ stage: 'parse', error });

/** Reason for not sending a record that could not be decoded, of which a rejects file has only the bytes. */
const undecodable = unreadable(
  'its bytes are not UTF-8: correct it here, or send the original input again with its --encoding',
);

/** Reason for not sending a text of which a rejects file has only the start: an identity at its end may be cut. */
const cutText = unreadable(
  'it is cut to 64 KiB: put the whole record here, or correct and send the original input',
);

/** Returns the JSON of a corrected text that was a parse error: a CSV line, or JSON. */
function correctedText(
  json: JsonParser,
  index: number,
  reading: RejectsReading,
): string | RejectReason {
  const member = (name: string): unknown => {
    const at = json.find(name);
    if (at < 0) return undefined;
    return JSON.parse(json.valueText(at));
  };
  const text = JSON.parse(json.valueText(index)) as string;
  if (isCutRejectText(text)) return cutText;
  const header = textsOf(member('columns'));
  if (header === undefined) return text;
  const marker = (name: keyof Dialect): Dialect => {
    const value = member(name);
    return typeof value === 'string' ? { [name]: value } : {};
  };
  const dialect = { ...marker('delimiter'), ...marker('quote'), ...marker('escape') };
  const line = splitCsvLine(text, dialect, header.length);
  if (typeof line === 'string') return unreadable(line);
  const cells = header.map((_, at) => cellText(line, at));
  if (header.every((name, at) => name === cells[at] || rejectColumns.includes(name)))
    return unreadable('the row repeats the header: remove it');
  const heldBack = heldBackReason(header, (at) => cells[at]!, reading);
  if (heldBack) return heldBack;
  const values = reading.isExport?.(header)
    ? exportedValues(line, { header, bounds: line.bounds }, 0)
    : [];
  const named = header.map((name, at) => `${JSON.stringify(name)}:${values[at] ?? JSON.stringify(cells[at])}`); // prettier-ignore
  return `{${named.join(',')}}`;
}

/**
 * Returns the stage of a rejects line; undefined for any other record. A record with further members is none:
 * whoever writes properties of a user must not be able to replace the identity beside them by that of another.
 */
function rejectsStage(json: JsonParser): string | undefined {
  if (json.count < 4) return undefined;
  const stage = json.find('stage');
  const word = stage < 0 ? undefined : json.stringAt(stage, stageText)?.toString();
  if (word === undefined || !stages.has(word)) return undefined;
  if (json.find('source') < 0 || json.find('line') < 0) return undefined;
  if (json.find('record') < 0 && json.find('recordBase64') < 0) return undefined;
  for (let at = 0; at < json.count; at++) {
    if (!rejectMembers.has(json.nameAt(at))) return undefined;
  }
  return word;
}

/** What a line of a rejects file says of its record. Of nested lines, the innermost one counts. */
interface LineFacts {
  /** Columns of the table whose row the record is. */
  readonly columns: readonly string[] | undefined;
  /**
   * Whether it is a line of a CSV, or its identifier was rejected as a placeholder (also as one of `--null-values`), or as
   * changed by a spreadsheet: it is checked again, although a JSON string with its text would be valid.
   */
  readonly hadPlaceholder: boolean;
}

export function factsOfLine(rows: RowBlock, row: number): LineFacts {
  let facts: LineFacts = { columns: undefined, hadPlaceholder: false };
  const onLine = (line: JsonParser): void => {
    const [columns, error] = [line.find('columns'), line.find('error')];
    const reason = error < 0 ? '' : line.valueText(error);
    const wasPlaceholder =
      reason.includes(placeholderAdvice) || reason.includes('the value is empty');
    facts = {
      columns: columns < 0 ? undefined : textsOf(JSON.parse(line.valueText(columns))),
      hadPlaceholder: columns >= 0 || wasPlaceholder,
    };
  };
  readInputRecord(json, rows, row, { retryUnknown: true, onLine });
  return facts;
}

/** Returns an array of texts; undefined for one that has none or other values, and for anything else. */
function textsOf(values: unknown): readonly string[] | undefined {
  const isTexts = Array.isArray(values) && values.every((value) => typeof value === 'string');
  return isTexts && values.length > 0 ? values : undefined;
}

/**
 * Returns the columns of a row of a table if a rejects file names them, because its record could be taken for one of
 * another shape. Undefined for all other rows.
 */
export function tableColumns(
  rows: RowBlock,
  row: number,
  mapper: Pick<Mapper, 'isMistakable'>,
): readonly string[] | undefined {
  if (!rows.cells) return factsOfLine(rows, row).columns;
  const { header } = rows.cells;
  const hasPath = header.some((name) => name.includes('.'));
  return hasPath || mapper.isMistakable?.(header) === true ? header : undefined;
}

/** Describes a JSON error with its column, and its line if the record spans several. */
function jsonErrorMessage({ bytes, failure, failureAt, start }: JsonParser): string {
  const before = bytes.toString('latin1', start, failureAt);
  const lines = before.split(/\r\n|\n|\r/).length;
  const within = Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r'));
  // Before the record only LF ends a line; a search for CR would scan the whole block.
  const lineStart = lines > 1 ? start + within + 1 : bytes.subarray(0, start).lastIndexOf(LF) + 1;
  const where = lines > 1 ? `line ${lines} of the record, column` : 'column';
  return `JSON ${failure}, at ${where} ${failureAt - lineStart + 1}`;
}

const nothing = Buffer.alloc(0);
/** CSV dialect, if it is not RFC 4180. */
interface Dialect {
  readonly delimiter?: string;
  readonly quote?: string;
  readonly escape?: string;
}

let program: CsvProgram | undefined;

/** A CSV record and the bounds of its cells, as in RowBlock. */
interface CsvLine {
  readonly bytes: Buffer;
  readonly bounds: Int32Array;
}

const cellText = ({ bytes, bounds }: CsvLine, at: number): string =>
  text.ofCell(bytes, bounds[2 * at]!, bounds[2 * at + 1]!).toString();

/** Splits one CSV record; returns an error if the number of its cells differs from that of the columns. */
function splitCsvLine(
  line: string,
  { delimiter = ',', quote = '"', escape = quote }: Dialect,
  columns: number,
): CsvLine | string {
  if (!line.isWellFormed()) return 'not valid Unicode: half of a character is missing';
  const doubled = escape === quote ? {} : { escape };
  const ambiguous = dialectError({ delimiter, quote, ...doubled });
  if (ambiguous)
    return `the member ${JSON.stringify(ambiguous.name)} cannot be used: ${ambiguous.why}`;
  const bytes = Buffer.from(line);
  const markers = {
    delimiter: Buffer.from(delimiter),
    quote: Buffer.from(quote),
    escape: Buffer.from(escape),
    comment: nothing,
  };
  const scanner = new CsvScanner((program ??= new CsvProgram()), markers);
  scanner.begin(bytes, columns, true);
  const { next, width, cells, failure } = scanner.scan(0);
  if (failure) return String(failure.what);
  if (width !== columns) {
    return `${width === 1 ? '1 cell' : `${width} cells`}, but the header has ${columns}`;
  }
  if (next !== BEYOND && /[^\r\n]/.test(bytes.toString('latin1', next)))
    return 'more than one CSV record: put each on a line of its own';
  const bounds = cells.slice(0, 2 * columns);
  const standard = standardCells(bytes, bounds, markers);
  return standard
    ? { bytes: Buffer.concat([bytes, standard.behind]), bounds: standard.cells }
    : { bytes, bounds };
}

/** Error of a row of a CSV rejects file that has only its bytes. */
const bytesOnly = /^parse: .*; base64: [\w+/]+=*$/s;

/** Returns the error of a row of a CSV rejects file; empty for rows of another CSV. */
function errorOf(rows: RowBlock, row: number): string {
  const column = rows.cells?.header.indexOf('engagectl_error') ?? -1;
  return column < 0 ? '' : cellOf(rows, row, column);
}

function cellOf({ cells, bytes }: RowBlock, row: number, column: number): string {
  const { header, bounds } = cells!;
  const at = 2 * (row * header.length + column);
  return text.ofCell(bytes, bounds[at]!, bounds[at + 1]!).toString();
}

/**
 * Returns why a row of a CSV rejects file is not sent: its outcome is unknown, another run sent it, or its error is in
 * another column, or a part of it is missing. Undefined for rows of another CSV.
 */
function heldBackReason(
  header: readonly string[],
  cell: (column: number) => string,
  { retryUnknown, again = true }: RejectsReading,
): RejectReason | undefined {
  const column = header.indexOf('engagectl_error');
  if (column < 0) return undefined;
  const error = cell(column);
  const misplaced = misplacedBefore(error);
  if (misplaced) return misplaced;
  if (isShifted(header, cell)) return shifted;
  const [, cells, columns] = cellsOfLine.exec(error) ?? [];
  const isShort = Number(cells) < Number(columns);
  if (isShort && Number(cells) === header.filter(isDataColumn).length) return tooFew;
  if (
    error.includes(linesInOne) &&
    header.some((name, at) => isDataColumn(name) && /[\r\n]/.test(cell(at)))
  )
    return joined;
  if (header.some((_, at) => cell(at).includes(cutMark))) return cutText;
  if (/^unknown: /i.test(error)) return retryUnknown ? undefined : unknownOutcomeError;
  return /^alreadySent: /i.test(error) && !again ? alreadySentError : undefined;
}

/**
 * Number of cells of a line that did not fit its header. If the header had the columns of a rejects file, too, the line and
 * its error can fit that of the next one, although no cell was corrected.
 */
const cellsOfLine = /^parse: (\d+) cells?, but the header has (\d+)/;
/** Error of a line of a CSV rejects file that was written as it was read; an open quote in it takes the error into its cell. */
const errorOfLine = /(?:^|[,;|\t]\d+[,;|\t]"*)(?:parse|notSent): /;
/** An error, as a rejects file has it. */
const errorOfStage = new RegExp(`^(?:${[...stages].join('|')})(?: \\d+)?: `, 'i');

/**
 * Whether the cells of a row of a CSV rejects file are not in their columns: a spreadsheet or a program filled up a line with
 * too few cells, or dropped the last ones of a line with too many, or read a broken quote in its own way, or it was rejected
 * twice. Then the number of the line may be in the column of the identity.
 */
function isShifted(header: readonly string[], cell: (column: number) => string): boolean {
  const error = cell(header.indexOf('engagectl_error'));
  const line = header.indexOf('engagectl_line');
  if (line < 0 ? error === '' : /[^\d.,\s]/.test(cell(line))) return true;
  if (error !== '' && !errorOfStage.test(error)) return true;
  return header.some((name, column) => isDataColumn(name) && errorOfLine.test(cell(column)));
}

const isDataColumn = (name: string): boolean => !rejectColumns.includes(name);

const joined = unreadable(
  'it was several lines with a quote that is wrong, and another program may have made one cell of them: if they are one record, clear the error; otherwise correct and send the original input',
);

const moveCells =
  'move each cell to its column and clear the error, or correct and send the original input';
const shifted = unreadable(`the row has the error of a line in another column: ${moveCells}`);
const tooFew = unreadable(
  `its line had too few cells, which may be in other columns now: ${moveCells}`,
);

/** Returns the reason for which a row with this error was held back before, if its cells may be in other columns. */
const misplacedBefore = (error: string): RejectReason | undefined =>
  [shifted, tooFew].find((reason) => error.includes(reason.error));

/**
 * Wraps a mapper to hold back rows of a CSV rejects file: those with unknown outcome, unless
 * `retryUnknown`, those that another run sent, unless `again`, and those that could not be decoded and were not corrected.
 */
export function holdBackRejects(
  mapper: Mapper,
  reading: { readonly retryUnknown: boolean; readonly again: boolean },
): Mapper {
  const reasonOf = (rows: RowBlock, row: number): RejectReason | undefined =>
    heldBackReason(rows.cells!.header, (column) => cellOf(rows, row, column), reading);
  return {
    ...mapper,
    check: (header, source) => {
      refuseMisspelled(header, source);
      mapper.check(header, source);
    },
    map: (rows, picked) => {
      const block = mapper.map(rows, picked);
      if (!rows.cells?.header.includes('engagectl_error')) return block;
      const heldBack: RejectedRow[] = [];
      const others = filterRecords(block, (index) => {
        const row = block.row[index]!;
        const reason = reasonOf(rows, row);
        if (!reason) return true;
        heldBack.push({ row, ...reason });
        return false;
      });
      const rejects = block.rejects.map((reject) => {
        const reason = reasonOf(rows, reject.row); // also if other options reject it: it may have been sent
        if (reason) return { ...reject, ...reason };
        return bytesOnly.test(errorOf(rows, reject.row)) ? { ...reject, ...undecodable } : reject;
      });
      return { ...others, rejects: [...rejects, ...heldBack] };
    },
  };
}

/** Throws E-HEADER for the column of a rejects file in another spelling: its rows would count as any others. */
function refuseMisspelled(header: readonly string[], source: string): void {
  if (header.includes('engagectl_error')) return;
  const column = header.find(
    (name) => name.toLowerCase().replaceAll(/[^a-z]/g, '') === 'engagectlerror',
  );
  if (column === undefined) return;
  throw new EngagectlError(
    'E-HEADER',
    `${source}: the column ${JSON.stringify(column)} is engagectl_error in another spelling`,
    {
      why: 'it says which rows of a rejects file may have been sent',
      fix: 'write engagectl_error in the header row',
      file: source,
    },
  );
}

/**
 * Returns whether a row is a line of a rejects file whose record was sent to the service or counted as sent, but
 * is to be sent again: it was rejected or not sent, or its outcome is unknown, with `retryUnknown`. Undefined
 * if the block has no such lines.
 */
export function resentRows(
  rows: RowBlock,
  { retryUnknown }: { readonly retryUnknown: boolean },
): ((row: number) => boolean) | undefined {
  const resent = new Set(['service', 'notSent', ...(retryUnknown ? ['unknown'] : [])]);
  const { cells, bytes, bounds } = rows;
  if (!cells) {
    if (!bytes.includes('"stage"')) return undefined;
    return (row) =>
      json.readFrom(bytes, bounds[2 * row]!, bounds[2 * row + 1]!) &&
      resent.has(rejectsStage(json) ?? '');
  }
  if (!cells.header.includes('engagectl_error')) return undefined;
  return (row) => resent.has(errorOf(rows, row).split(/[: ]/, 1)[0]!);
}

/** Returns whether a row is a line of a rejects file whose record was not sent. */
export function wasNotSent(rows: RowBlock, row: number): boolean {
  const { cells, bytes, bounds } = rows;
  if (cells) return errorOf(rows, row).startsWith('notSent: ');
  return (
    json.readFrom(bytes, bounds[2 * row]!, bounds[2 * row + 1]!) && rejectsStage(json) === 'notSent'
  );
}

/** Returns a row of a rejects file as a line of NDJSON if its outcome is unknown. */
export function unknownLine(
  rows: RowBlock,
  row: number,
  mapper: Pick<Mapper, 'isExport' | 'isMistakable'>,
): string | undefined {
  const { cells, source, lines } = rows;
  if (!cells) {
    const line = rowText(rows, row);
    const value = jsonValue(line) as { readonly stage?: unknown } | null | undefined;
    return value?.stage === 'unknown' ? line : undefined;
  }
  const [, error] = /^unknown: (.*)$/s.exec(errorOf(rows, row)) ?? [];
  if (error === undefined) return undefined;
  const place = `"source":${JSON.stringify(source)},"line":${lines[row] ?? 0}`;
  const columns = tableColumns(rows, row, mapper);
  const named = columns ? `,"columns":${JSON.stringify(columns)}` : '';
  return `{${place},"stage":"unknown","error":${JSON.stringify(error)},"record":${sourceRecord(rows, row, mapper)}${named}}`;
}

/** Returns the text of a row without the whitespace around it. */
export const rowText = ({ bytes, bounds }: RowBlock, row: number): string =>
  bytes.toString('utf8', bounds[2 * row], bounds[2 * row + 1]).trim();

/** Returns the value of a JSON text; undefined for another text. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns whether the block begins with a line of a rejects file. */
export function holdsRejectLines({ cells, bytes, bounds }: RowBlock): boolean {
  if (cells) return cells.header.includes('engagectl_error');
  return (
    bytes.includes('"stage"') &&
    json.readFrom(bytes, bounds[0]!, bounds[1]!) &&
    rejectsStage(json) !== undefined
  );
}

const json = new JsonParser();
const text = new TextSlice();

/**
 * Returns a row as JSON text of one line: a CSV row as an object by header, of strings, or of typed values if it is read
 * as an export; a JSON row as written, and for a line of a rejects file its inner record, to avoid nesting deeper
 * each time; and a text that is not JSON as a string of at most 64 KiB.
 */
export function sourceRecord(
  rows: RowBlock,
  row: number,
  mapper: Pick<Mapper, 'isExport'> = {},
): string {
  if (rows.cells) return csvRecord(rows, rows.cells, { row, mapper });
  const [start, end] = [rows.bounds[2 * row]!, rows.bounds[2 * row + 1]!];
  const reading = { retryUnknown: true, isExport: mapper.isExport };
  const isRecord = readInputRecord(json, rows, row, reading) === undefined;
  if (isRecord || json.read(rows.bytes, start, end) || json.repeatsKey) {
    // line ends in valid JSON are always between tokens, because strings cannot contain them unescaped
    return json.bytes.toString('utf8', json.start, json.end).replace(/[\r\n]+/g, '');
  }
  const cut = textEnd(rows.bytes, start, end);
  return JSON.stringify(`${rows.bytes.toString('utf8', start, cut)}${cut < end ? cutMark : ''}`);
}

/** Returns the end of the text, cut to the maximum length without splitting a character. */
function textEnd(bytes: Buffer, start: number, end: number): number {
  if (end - start <= rejectTextBytes) return end;
  let cut = start + cutTextBytes;
  while ((bytes[cut]! & 0xc0) === 0x80) cut--;
  return cut;
}

/** Returns the row with every column, sent or not. */
function csvRecord(
  rows: RowBlock,
  { header, bounds, uncleaned = bounds }: NonNullable<RowBlock['cells']>,
  { row, mapper }: { readonly row: number; readonly mapper: Pick<Mapper, 'isExport'> },
): string {
  const { bytes } = rows;
  const first = 2 * row * header.length;
  const values = mapper.isExport?.(header)
    ? exportedValues(rows, { header, bounds: uncleaned }, row)
    : undefined;
  const members = header.map((name, column) => {
    const at = first + 2 * column;
    const cell = text.ofCell(bytes, uncleaned[at]!, uncleaned[at + 1]!).toString();
    return `${JSON.stringify(name)}:${values?.[column] ?? JSON.stringify(cell)}`;
  });
  return `{${members.join(',')}}`;
}

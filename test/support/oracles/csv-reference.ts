import { parse, type CsvError, type InfoRecord, type Options } from 'csv-parse/sync';
import type { Marks, WildDocument } from './random-csv.js';

/**
 * What a document holds, by csv-parse and by what the contract adds to it: line numbers, what is a
 * record, and where reading goes on after a failure (contract §2).
 *
 * - csv-parse says what the cells are and which record breaks the rules of quoting. It ends at the
 *   first that does. The line of the error is the first one up to which csv-parse finds more wrong than a
 *   quote that is still open: no line before it may become a record. It is started again behind that line.
 * - Where a quote is open to the end, csv-parse finds nothing else wrong up to any line: there the input ends.
 * - Both call the same record faulty: a quote in an unquoted cell, text after a closing quote, or a
 *   quote that is never closed. The words are ours, and so is the line: that on which the record starts.
 * - A wrong number of cells is counted here (`relax_column_count`), since it must not end the reading.
 * - Its own line numbers are those of a record's end, and count CRLF twice in places: lines are
 *   counted here, as line ends before the record.
 * - A NUL after a closing quote is taken for the end of the text by csv-parse. It is given another
 *   control character in the place of each NUL.
 */
export function expectedOf({ text, marks, columns }: WildDocument): readonly string[] {
  const outcomes: string[] = [];
  let start = 0;
  let isHeader = true;
  while (start < text.length) {
    const read = readFrom(text, start, marks);
    for (const { cells, from, to } of read.records) {
      const line = lineAt(text, from);
      if (isHeader) isHeader = false;
      else if (cells.length === columns)
        outcomes.push(rowOutcome(line, text.slice(from, to), cells));
      else outcomes.push(failureOutcome(line, 'cells', text.slice(from, to)));
    }
    if (read.failureAt === undefined) break;
    const { errorEnd, openLine } = failureFrom(text, read.failureAt, marks);
    if (errorEnd === undefined) {
      outcomes.push(unclosedOutcome(openLine));
      break;
    }
    const raw = text.slice(read.failureAt, errorEnd);
    outcomes.push(failureOutcome(lineAt(text, read.failureAt), 'quoting', raw));
    start = errorEnd + /^(?:\r\n|\r|\n|)/.exec(text.slice(errorEnd))![0].length;
  }
  return outcomes;
}

export const rowOutcome = (
  line: number,
  text: string,
  cells: readonly string[] | undefined,
): string => JSON.stringify({ line, text, cells });
export const failureOutcome = (line: number, failure: 'quoting' | 'cells', raw: string): string =>
  JSON.stringify({ line, failure, raw });

export const unclosedOutcome = (line: number): string => JSON.stringify({ unclosed: line });

/** The end of the line with the error in the record at `from`; or, without one, the line of the quote that stays open. */
function failureFrom(text: string, from: number, marks: Marks) {
  for (const { index } of [...text.matchAll(/\r\n|\r|\n|$/g)].filter((end) => end.index >= from)) {
    if (judged(text.slice(from, index), marks) === 'broken')
      return { errorEnd: index, openLine: 0 };
  }
  // Before the quote that opens a cell any text may stand; behind one that closes a cell it would be an error.
  let open = text.length;
  while (judged(`${text.slice(from, open)}x`, marks) !== 'whole') open -= 1;
  return { errorEnd: undefined, openLine: lineAt(text, open) };
}

function judged(text: string, marks: Marks): 'whole' | 'open' | 'broken' {
  try {
    parse(Buffer.from(text.replaceAll('\0', '\u0001')), optionsOf(marks));
    return 'whole';
  } catch (error) {
    return (error as CsvError).code === 'CSV_QUOTE_NOT_CLOSED' ? 'open' : 'broken';
  }
}

interface Found {
  readonly cells: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** The records from `start` on, and where the one starts that cannot be read, if there is one. */
function readFrom(text: string, start: number, marks: Marks) {
  const records: Found[] = [];
  const rest = text.slice(start).replaceAll('\0', '\u0001');
  let done = 0; // bytes, as csv-parse counts them
  const bytes = Buffer.from(rest);
  const options: Options = {
    ...optionsOf(marks),
    on_record: (record: string[], info: InfoRecord) => {
      const from = start + lengthOf(bytes, recordStart(bytes, done, marks));
      done = info.bytes;
      const to =
        start + lengthOf(bytes, done) - /(?:\r\n|\r|\n)?$/.exec(textOf(bytes, done))![0].length;
      records.push({ cells: record.map((cell) => cell.replaceAll('\u0001', '\0')), from, to });
      return null;
    },
  };
  try {
    parse(bytes, options);
    return { records, failureAt: undefined };
  } catch {
    return { records, failureAt: start + lengthOf(bytes, recordStart(bytes, done, marks)) };
  }
}

const optionsOf = (marks: Marks): Options => ({
  delimiter: marks.delimiter,
  quote: marks.quote,
  escape: marks.escape,
  comment: marks.comment === '' ? null : marks.comment,
  comment_no_infix: true,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  skip_empty_lines: true,
});

const textOf = (bytes: Buffer, end: number): string => bytes.toString('utf8', 0, end);
const lengthOf = (bytes: Buffer, end: number): number => textOf(bytes, end).length;

/** The first byte from `from` on that is neither part of a blank line nor of a comment. */
function recordStart(bytes: Buffer, from: number, { comment }: Marks): number {
  const mark = comment === '' ? '' : `|${comment}[^\r\n]*`;
  const passed = new RegExp(`^(?:[\r\n]${mark})*`).exec(bytes.toString('utf8', from))![0];
  return from + Buffer.byteLength(passed);
}

const lineAt = (text: string, position: number): number =>
  1 + (text.slice(0, position).match(/\r\n|\r|\n/g)?.length ?? 0);

import { EngagectlError, groupDigits } from '../errors.js';
import { JsonFlattener } from '../text/json-flattener.js';
import { closestName } from '../did-you-mean.js';
import type { DocumentOptions, RecordEncoder, RecordPage } from './output.js';

/** Maximum columns. Data with more uses values as names, such as dates or identities. */
const mostColumns = 10_000;
/** Maximum bytes of their names together: the name of a nested value repeats the names around it. */
const mostNameBytes = 8 * 1024 * 1024;

/** Encodes CSV with the given columns, or with the union of the columns of all records. */
export function encoder(options: DocumentOptions): RecordEncoder {
  const { columns: chosen } = options;
  let flattener = new JsonFlattener(options);
  const unseen = chosen && new MissingColumns(chosen);
  const header = (): Buffer => {
    const { line, formulas } = headerOf(chosen ?? flattener.columns, options);
    flattener.formulas += formulas;
    return line;
  };
  const page = (page: RecordPage, isFirst: boolean): Buffer => {
    unseen?.look(page);
    if (flattener.columnCount === 0) return Buffer.alloc(0);
    const lines = isFirst ? [header()] : [];
    for (const rows of flattener.rows(page)) lines.push(Buffer.from(rows));
    return Buffer.concat(lines);
  };
  const warnings = () => [...(unseen?.warnings() ?? []), ...formulaWarnings(flattener, options)];
  if (chosen) {
    return {
      page,
      end: (isEmpty) => (isEmpty ? header() : Buffer.alloc(0)),
      known: () => (flattener.formulas > 0 ? { formulas: flattener.formulas } : {}),
      restore: ({ formulas = 0 }) => {
        flattener.formulas = formulas;
      },
      warnings,
    };
  }
  const look = (page: RecordPage, isFirst: boolean): void => {
    if (isFirst && flattener.columnCount > 0) flattener = new JsonFlattener(options);
    flattener.learn(page, mostColumns);
    if (flattener.columnCount > mostColumns) throw tooManyColumns(flattener, options);
    if (flattener.nameBytes > mostNameBytes) throw tooLongNames(options);
  };
  return { look, page, warnings };
}

/** Encodes the header row, and counts the names that are formulas. */
function headerOf(names: readonly string[], { bom, escapeFormulas }: DocumentOptions) {
  const members = names.map((name, index) => `"${index}":${JSON.stringify(name)}`);
  const bytes = Buffer.from(`{${members.join(',')}}`);
  const page = { bytes, bounds: Int32Array.of(0, bytes.length), count: 1 };
  const flattener = new JsonFlattener({ escapeFormulas });
  flattener.learn(page);
  const mark = Buffer.from(bom ? '\ufeff' : '');
  const [row] = flattener.rows(page);
  return { line: Buffer.concat([mark, row!]), formulas: flattener.formulas };
}

function tooManyColumns(flattener: JsonFlattener, options: DocumentOptions): EngagectlError {
  const message = `the records have more than ${groupDigits(mostColumns)} different columns`;
  const last = flattener.nameBytes > mostNameBytes ? undefined : flattener.columns.at(-1);
  const example = last === undefined ? '' : `; the last one is ${last.slice(0, 80)}`;
  return columnsError(message, `CSV needs one column for each${example}`, options);
}

const tooLongNames = (options: DocumentOptions): EngagectlError =>
  columnsError(
    'the names of the columns have more than 8 MiB together',
    'the column of a nested value repeats the names around it',
    options,
  );

function columnsError(message: string, why: string, { option }: DocumentOptions): EngagectlError {
  return new EngagectlError('E-COLUMNS', message, {
    why,
    fix: `select columns with ${option('columns', 'a,b.c')}, or write NDJSON with ${option('format', 'ndjson')}; restart with ${option('fresh')}`,
  });
}

/** Returns the warning about cells that a spreadsheet would execute. */
function formulaWarnings(
  { formulas }: JsonFlattener,
  { escapeFormulas, option }: DocumentOptions,
): string[] {
  if (formulas === 0) return [];
  const cells = formulas === 1 ? '1 cell' : `${formulas} cells`;
  if (escapeFormulas) return [`${cells} that a spreadsheet would run as a formula got a leading '`];
  const escape = option('csvFormulas', 'escape');
  return [`${cells} would be run as a formula by a spreadsheet; ${escape} prevents it`];
}

/** Maximum pages searched for missing columns. */
const mostPages = 20;

/** Finds selected columns that do not occur, which are probably misspelled. */
class MissingColumns {
  readonly #missing: Set<string>;
  readonly #seen = new JsonFlattener({ escapeFormulas: false });
  #pages = 0;

  constructor(columns: readonly string[]) {
    this.#missing = new Set(columns);
  }

  look(page: RecordPage): void {
    if (this.#missing.size === 0 || this.#pages >= mostPages) return;
    this.#pages += 1;
    this.#seen.learn(page);
    if (this.#seen.nameBytes > mostNameBytes) return this.#missing.clear(); // too many to compare with
    for (const name of this.#seen.columns) this.#missing.delete(name);
  }

  warnings(): string[] {
    if (this.#pages === 0) return [];
    const where = this.#pages < mostPages ? '' : ` in the first ${mostPages} pages`;
    return [...this.#missing].map(
      (name) =>
        `column ${JSON.stringify(name)} does not occur${where}${meantColumn(name, this.#seen.columns)}`,
    );
  }
}

const lastName = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

/** Returns `; did you mean "profileData.City"?` for a column with nearly the same last name, or an empty string. */
function meantColumn(name: string, columns: readonly string[]): string {
  const last = closestName(lastName(name), columns.map(lastName));
  const alike = columns.filter((column) => lastName(column) === last);
  const around = name.slice(0, -lastName(name).length);
  const meant = alike.find((column) => column.startsWith(around)) ?? alike[0];
  return meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
}

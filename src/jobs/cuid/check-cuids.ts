import { TextSlice } from '../../text/text-slice.js';
import { RowValues } from '../../mapping/row-values.js';
import { validationError, type RejectReason } from '../../mapping/record-block.js';
import { runRowJob, type RowsOptions, type RowJobResult, type RowConsumer } from '../row-job.js';
import { validateCuid, type CuidFinding, type CuidRule } from '../../calling/cuid.js';
import { EngagectlError, groupDigits } from '../../errors.js';
import { CuidSet, type ByteRange } from '../../text/cuid-set.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { RowBlock } from '../../input/row-block.js';
import type { JobHooks } from '../job-results.js';
import type { JobContext } from '../job-context.js';

export interface CheckCuidsOptions extends RowsOptions {
  /** Column of the cuid; default `cuid`. */
  readonly column?: string;
  /** Treat warnings as errors. */
  readonly strict?: boolean;
}

/** Rules for a single cuid, for duplicates, and for unreadable rows. */
type CheckRule = CuidRule | DuplicateOf['how'] | 'unreadable';

/** A row with errors or warnings. */
interface CheckedCuid extends Place {
  /** First 200 characters of the cuid; null if the row has none. */
  readonly cuid: string | null;
  readonly severity: 'error' | 'warning';
  readonly rules: readonly CheckRule[];
  readonly message: string;
  /** First row with the same cuid, ignoring case. */
  readonly first?: Place;
}

interface CheckFigures {
  /** Number of accepted rows with warnings. */
  readonly warnings: number;
  /** Number of rows by violated rule. */
  readonly rules: Readonly<Partial<Record<CheckRule, number>>>;
}
type CheckCuidsResult = RowJobResult & CheckFigures;

export interface CheckCuidsHooks extends JobHooks<CheckCuidsResult> {
  /** Called with rows that have errors or warnings, and awaited. */
  readonly found?: (rows: readonly CheckedCuid[]) => Promise<void>;
}

/** Checks each cuid of an input, and finds duplicates. */
export async function checkCuids(
  options: CheckCuidsOptions,
  context: JobContext,
  hooks: CheckCuidsHooks = {},
): Promise<CheckCuidsResult> {
  const { column = 'cuid' } = options;
  const kind = {
    name: 'cuid check',
    columns: [column],
    fix: 'choose the column with --column <column>',
    rejected: 'have no valid cuid',
  };
  const known = new DuplicateCuids(context.runtime.random);
  return runRowJob(
    kind,
    { options, context, hooks },
    (tally) => new CuidChecker({ ...options, column, tally, known, found: hooks.found }),
  );
}

interface Finding extends Pick<CuidFinding, 'severity' | 'message'> {
  readonly rule: CheckRule;
}

/** Errors and warnings of a row. */
interface CuidProblem {
  readonly cuid: string | null;
  readonly findings: readonly Finding[];
  readonly first?: Place;
  readonly stage?: RejectReason['stage'];
}

interface CheckerParts {
  readonly column: string;
  readonly strict?: boolean;
  readonly tally: Tally;
  readonly known: DuplicateCuids;
  readonly found: CheckCuidsHooks['found'] | undefined;
}

class CuidChecker implements RowConsumer<CheckFigures> {
  readonly #parts: CheckerParts;
  readonly #values: RowValues<string>;
  readonly #text = new TextSlice();
  readonly #rules: Partial<Record<CheckRule, number>> = {};
  #warnings = 0;

  constructor(parts: CheckerParts) {
    this.#parts = parts;
    this.#values = new RowValues([parts.column], true);
  }

  async take(rows: RowBlock): Promise<void> {
    const { tally, known, found } = this.#parts;
    const { source } = rows;
    const checked: CheckedCuid[] = [];
    for (const failure of rows.parseErrors) {
      tally.parseError(rows, failure);
      checked.push(
        this.#checked(unreadable({ error: failure.error, stage: 'parse' }), {
          source,
          line: failure.line,
        }),
      );
    }
    let first = 0;
    for (const [row, problem] of [...this.#problemsIn(rows)].toSorted(([a], [b]) => a - b)) {
      const messages = this.#checked(problem, { source, line: rows.lines[row]! });
      checked.push(messages);
      if (messages.severity === 'warning') continue;
      const stage = problem.stage === 'parse' ? 'parse' : 'validate';
      tally.reject(rows, row, { stage, error: errorOf(messages) });
      if (row > first) tally.accept(rows, first, row - first);
      first = row + 1;
    }
    if (rows.count > first) tally.accept(rows, first, rows.count - first);
    known.refuseTooMany();
    if (checked.length > 0) await found?.(checked);
  }

  more(): CheckFigures {
    return { warnings: this.#warnings, rules: this.#rules };
  }

  /** Returns the rows with errors or warnings. */
  #problemsIn(rows: RowBlock): ReadonlyMap<number, CuidProblem> {
    const { known } = this.#parts;
    const problems = new Map<number, CuidProblem>();
    const { bytes } = rows;
    known.begin(rows, { bytes, start: 0, end: bytes.length });
    for (let row = 0; row < rows.count; row += 1) {
      const failure = this.#values.moveTo(rows, row) ?? this.#read();
      if (failure) {
        problems.set(row, unreadable(failure));
        continue;
      }
      const findings = cuidIssues(this.#text);
      if (findings.length > 0) problems.set(row, { cuid: this.#text.toString(), findings });
      if (!this.#text.isEmpty) known.put(rows, row, this.#text);
    }
    known.meet(({ row, cuid }, met) => {
      const findings = [...(problems.get(row)?.findings ?? []), ofMet(met, rows.source)];
      problems.set(row, { cuid, findings, first: met.first });
    });
    return problems;
  }

  #read(): RejectReason | undefined {
    const { column } = this.#parts;
    if (this.#values.isNamed) return this.#values.readOptional(column, this.#text);
    if (this.#values.readWhole(this.#text)) return undefined;
    return validationError('the record must be a JSON object or string');
  }

  /** Builds the result of a row and counts it. */
  #checked({ cuid, findings, first }: CuidProblem, place: Place): CheckedCuid {
    const { strict = false } = this.#parts;
    const isError = strict || findings.some(({ severity }) => severity === 'error');
    if (!isError) this.#warnings += 1;
    for (const { rule } of findings) this.#rules[rule] = (this.#rules[rule] ?? 0) + 1;
    return {
      ...place,
      cuid: cuid !== null && cuid.length > 200 ? `${cuid.slice(0, 200)}…` : cuid,
      severity: isError ? 'error' : 'warning',
      rules: findings.map(({ rule }) => rule),
      message: findings.map(({ message }) => message).join('; '),
      ...(first && { first }),
    };
  }
}

function unreadable({ error, stage }: Pick<RejectReason, 'error' | 'stage'>): CuidProblem {
  const finding = { rule: 'unreadable', severity: 'error', message: error } as const;
  return { cuid: null, findings: [finding], stage };
}

/** Builds the finding for the second row of a duplicate. */
function ofMet(met: DuplicateOf, source: string): Finding {
  const { how } = met;
  if (how === 'duplicate') {
    return { rule: how, severity: 'error', message: `is the same as on ${lineOf(met, source)}` };
  }
  const message = `differs by case alone from that on ${lineOf(met, source)}`;
  return { rule: how, severity: 'warning', message };
}

/** Formats the place of the first row, without the source if both have the same one. */
export const lineOf = ({ first }: DuplicateOf, source: string): string =>
  first.source === source ? `line ${first.line}` : `${first.source}:${first.line}`;

/** Formats the error for the rejects file. */
const errorOf = ({ rules, message }: Pick<CheckedCuid, 'rules' | 'message'>): string =>
  rules.includes('unreadable') ? message : `the cuid ${message} (${rules.join(', ')})`;

const none: readonly CuidFinding[] = [];

/** Returns the findings about a single cuid. */
function cuidIssues({ bytes, start, end }: ByteRange): readonly CuidFinding[] {
  if (isUnremarkable(bytes, start, end)) return none;
  return validateCuid(bytes.toString('utf8', start, end));
}

const underscore = 0x5f;

/** Whether a cuid has no findings: a fast path of `validateCuid` on bytes. */
export function isUnremarkable(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 5 || end - start > 50) return false;
  let hasLetter = false;
  let last = underscore; // refuses a leading underscore
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!;
    const lower = byte | 0x20;
    if (lower >= 0x61 && lower <= 0x7a) hasLetter = true;
    else if (byte === underscore ? last === underscore : byte < 0x30 || byte > 0x39) return false;
    last = byte;
  }
  return hasLetter && last !== underscore;
}

/** A row of an input. */
export interface Place {
  readonly source: string;
  readonly line: number;
}

/** A cuid that occurred before, exactly or with another case. */
export interface DuplicateOf {
  readonly how: 'duplicate' | 'case-twin';
  readonly first: Place;
}

/** A cuid of the current block. */
interface PutCuid {
  readonly row: number;
  readonly cuid: string;
}

/** Set of the cuids of all inputs so far, with the first place of each. */
export class DuplicateCuids {
  readonly #set: CuidSet;
  /** Inputs, and the total lines of the inputs before each. */
  readonly #sources: { readonly source: string; readonly before: number }[] = [];
  #input = -1;
  /** Rows of the cuids in the current block. */
  readonly #rows: number[] = [];
  /** Last line, counted across all inputs. */
  #last = 0;

  constructor(random: () => number) {
    this.#set = new CuidSet(random);
  }

  /** Starts a block of rows, most of whose cuids lie in `area`. */
  begin({ source, count, end: { input } }: RowBlock, area: ByteRange): void {
    this.#set.begin(count, area);
    this.#rows.length = 0;
    if (input === this.#input) return;
    this.#input = input;
    this.#sources.push({ source, before: this.#last });
  }

  /** Adds the cuid of a row to the block. */
  put({ lines }: RowBlock, row: number, cuid: ByteRange): void {
    this.#last = this.#sources.at(-1)!.before + lines[row]!;
    this.#rows.push(row);
    this.#set.put(cuid, this.#last);
  }

  /** Adds the cuids of the block to the set, and reports duplicates in row order. */
  meet(report: (cuid: PutCuid, met: DuplicateOf) => void): void {
    this.#set.add((index, { how, place }) => {
      const cuid = { row: this.#rows[index]!, cuid: this.#set.textOf(index) };
      report(cuid, { how, first: this.#placeOf(place) });
    });
  }

  /** Throws E-TOO-MANY if the set exceeds the limit that bounds its memory. */
  refuseTooMany(): void {
    const { size, most } = this.#set;
    if (size <= most) return;
    throw new EngagectlError('E-TOO-MANY', `more than ${groupDigits(most)} cuids in one run`, {
      why: 'the duplicate check keeps all cuids in memory',
      fix: 'split the input into several runs',
    });
  }

  #placeOf(place: number): Place {
    const { source, before } = this.#sources.findLast(({ before }) => before < place)!;
    return { source, line: place - before };
  }
}

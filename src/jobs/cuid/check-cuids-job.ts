import type { Tally } from '../../bulk/tally.js';
import type { CuidFinding, CuidRule } from '../../calling/validate-cuid.js';
import type { RowBlock } from '../../input/rows.js';
import { CellText } from '../../mapping/cell-text.js';
import { NamedValues } from '../../mapping/named-values.js';
import { invalid, type Fault } from '../../mapping/record-builder.js';
import type { World } from '../world.js';
import { cuidFindings } from './cuid-rules.js';
import { KnownCuids, type MetBefore, type Place } from './known-cuids.js';
import {
  performRows,
  type RowsHooks,
  type RowsOptions,
  type RowsResult,
  type RowsTaker,
} from '../perform-rows.js';

export interface CheckCuidsOptions extends RowsOptions {
  /** Column of the cuid; default `cuid`. */
  readonly column?: string;
  /** Warnings are errors. */
  readonly strict?: boolean;
}

/** Rules of one cuid, of cuids among each other, and that a row could be read at all. */
export type CheckRule = CuidRule | MetBefore['how'] | 'unreadable';

/** A row of which something is to be said. */
export interface CheckedCuid extends Place {
  /** At most 200 characters of it; null where the row has none. */
  readonly cuid: string | null;
  readonly severity: 'error' | 'warning';
  readonly rules: readonly CheckRule[];
  readonly message: string;
  /** Where the same cuid, or its twin, stands. */
  readonly first?: Place;
}

interface CheckFigures {
  /** Rows; they are accepted. */
  readonly warnings: number;
  /** Rows by what is to be said of them. */
  readonly rules: Readonly<Partial<Record<CheckRule, number>>>;
}
export type CheckCuidsResult = RowsResult & CheckFigures;

export interface CheckCuidsHooks extends RowsHooks<CheckCuidsResult> {
  /** Is told of rows with errors or warnings; what it returns is waited for. */
  readonly found?: (rows: readonly CheckedCuid[]) => Promise<void>;
}

/** Checks each cuid of an input by itself and against the others. */
export async function checkCuids(
  options: CheckCuidsOptions,
  world: World,
  hooks: CheckCuidsHooks = {},
): Promise<CheckCuidsResult> {
  const { column = 'cuid' } = options;
  const kind = {
    name: 'cuid check',
    columns: [column],
    fix: 'name the column with --column <column>',
    rejected: 'have no good cuid',
  };
  const known = new KnownCuids(world.runtime.random);
  return performRows(
    kind,
    { options, world, hooks },
    (tally) => new CuidChecker({ ...options, column, tally, known, found: hooks.found }),
  );
}

interface CheckerParts {
  readonly column: string;
  readonly strict?: boolean;
  readonly tally: Tally;
  readonly known: KnownCuids;
  readonly found: CheckCuidsHooks['found'] | undefined;
}

class CuidChecker implements RowsTaker<CheckFigures> {
  readonly #parts: CheckerParts;
  readonly #values: NamedValues<string>;
  readonly #text = new CellText();
  readonly #rules: Partial<Record<CheckRule, number>> = {};
  #warnings = 0;
  /** Of the block that is being read. */
  #found: CheckedCuid[] = [];

  constructor(parts: CheckerParts) {
    this.#parts = parts;
    this.#values = new NamedValues([parts.column], true);
  }

  async take(rows: RowBlock): Promise<void> {
    const { tally, known, found } = this.#parts;
    for (const fault of rows.faults) {
      tally.fault(rows, fault);
      this.#note({ source: rows.source, line: fault.line, ...unreadable(fault.error) });
    }
    for (let row = 0, first = 0; row <= rows.count; row += 1) {
      if (row < rows.count && this.#isAccepted(rows, row)) continue;
      if (row > first) tally.accept(rows, first, row - first);
      first = row + 1;
    }
    known.refuseTooMany();
    if (this.#found.length > 0) await found?.(this.#found);
    this.#found = [];
  }

  more(): CheckFigures {
    return { warnings: this.#warnings, rules: this.#rules };
  }

  /** A row that is not accepted is turned down. */
  #isAccepted(rows: RowBlock, row: number): boolean {
    const fault = this.#values.to(rows, row) ?? this.#read();
    const checked = fault ? unreadable(fault.error) : this.#look(rows, row);
    if (!checked) return true;
    this.#note({ source: rows.source, line: rows.lines[row]!, ...checked });
    if (checked.severity === 'warning') return true;
    const stage = fault?.stage === 'parse' ? 'parse' : 'validate';
    this.#parts.tally.turnDown(rows, row, { stage, error: errorOf(checked) });
    return false;
  }

  #read(): Fault | undefined {
    const { column } = this.#parts;
    if (this.#values.isNamed) return this.#values.readOptional(column, this.#text);
    if (this.#values.readWhole(this.#text)) return undefined;
    return invalid('a record is a JSON object or string');
  }

  /** What is to be said of the cuid that was read. */
  #look(rows: RowBlock, row: number): Omit<CheckedCuid, keyof Place> | undefined {
    const { known, strict } = this.#parts;
    const own = cuidFindings(this.#text);
    const met = this.#text.isEmpty ? undefined : known.meet(rows, row, this.#text);
    if (own.length === 0 && !met) return undefined;
    const all = met ? [...own, ofMet(met, rows.source)] : own;
    const isError = strict === true || all.some(({ severity }) => severity === 'error');
    const text = this.#text.toString();
    return {
      cuid: text.length > 200 ? `${text.slice(0, 200)}…` : text,
      severity: isError ? 'error' : 'warning',
      rules: all.map(({ rule }) => rule),
      message: all.map(({ message }) => message).join('; '),
      ...(met && { first: met.first }),
    };
  }

  #note(checked: CheckedCuid): void {
    for (const rule of checked.rules) this.#rules[rule] = (this.#rules[rule] ?? 0) + 1;
    if (checked.severity === 'warning') this.#warnings += 1;
    if (this.#parts.found) this.#found.push(checked);
  }
}

const unreadable = (message: string) =>
  ({ cuid: null, severity: 'error', rules: ['unreadable'], message }) as const;

type Finding = Pick<CuidFinding, 'severity' | 'message'> & { readonly rule: CheckRule };

/** Of two rows with one cuid, or with twins, the second one is told. */
function ofMet(met: MetBefore, source: string): Finding {
  const { how } = met;
  if (how === 'duplicate') {
    return { rule: how, severity: 'error', message: `is the same as on ${lineOf(met, source)}` };
  }
  const message = `differs by case alone from that on ${lineOf(met, source)}`;
  return { rule: how, severity: 'warning', message };
}

/** Where the first of the two stands, for who knows the source of the second. */
export const lineOf = ({ first }: MetBefore, source: string): string =>
  first.source === source ? `line ${first.line}` : `${first.source}:${first.line}`;

/** As the rejects file says it. */
const errorOf = ({ rules, message }: Pick<CheckedCuid, 'rules' | 'message'>): string =>
  rules.includes('unreadable') ? message : `the cuid ${message} (${rules.join(', ')})`;

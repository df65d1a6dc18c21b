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

/** Why something is to be said of a row. */
interface Doubt {
  readonly fault?: Fault;
  readonly cuid?: string;
  readonly findings?: readonly CuidFinding[];
  readonly met?: MetBefore;
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
    const doubts = this.#doubtsIn(rows);
    let first = 0;
    for (const [row, doubt] of [...doubts].toSorted(([a], [b]) => a - b)) {
      if (this.#isAccepted(rows, row, doubt)) continue;
      if (row > first) tally.accept(rows, first, row - first);
      first = row + 1;
    }
    if (rows.count > first) tally.accept(rows, first, rows.count - first);
    known.refuseTooMany();
    if (this.#found.length > 0) await found?.(this.#found);
    this.#found = [];
  }

  more(): CheckFigures {
    return { warnings: this.#warnings, rules: this.#rules };
  }

  /** Rows of which something is to be said. */
  #doubtsIn(rows: RowBlock): ReadonlyMap<number, Doubt> {
    const { known } = this.#parts;
    const doubts = new Map<number, Doubt>();
    const { bytes } = rows;
    known.begin(rows, { bytes, start: 0, end: bytes.length });
    for (let row = 0; row < rows.count; row += 1) {
      const fault = this.#values.to(rows, row) ?? this.#read();
      if (fault) {
        doubts.set(row, { fault });
        continue;
      }
      const findings = cuidFindings(this.#text);
      if (findings.length > 0) doubts.set(row, { cuid: this.#text.toString(), findings });
      if (!this.#text.isEmpty) known.put(rows, row, this.#text);
    }
    known.meet(({ row, cuid }, met) => {
      doubts.set(row, { cuid, findings: doubts.get(row)?.findings ?? [], met });
    });
    return doubts;
  }

  #read(): Fault | undefined {
    const { column } = this.#parts;
    if (this.#values.isNamed) return this.#values.readOptional(column, this.#text);
    if (this.#values.readWhole(this.#text)) return undefined;
    return invalid('a record is a JSON object or string');
  }

  /** Says what is to be said of a row. One that is not accepted is turned down. */
  #isAccepted(rows: RowBlock, row: number, doubt: Doubt): boolean {
    const { fault } = doubt;
    const checked = fault ? unreadable(fault.error) : this.#said(doubt, rows.source);
    this.#note({ source: rows.source, line: rows.lines[row]!, ...checked });
    if (checked.severity === 'warning') return true;
    const stage = fault?.stage === 'parse' ? 'parse' : 'validate';
    this.#parts.tally.turnDown(rows, row, { stage, error: errorOf(checked) });
    return false;
  }

  #said({ cuid = '', findings = [], met }: Doubt, source: string): Omit<CheckedCuid, keyof Place> {
    const all: readonly Finding[] = met ? [...findings, ofMet(met, source)] : findings;
    const isError = this.#parts.strict === true || all.some(({ severity }) => severity === 'error');
    return {
      cuid: cuid.length > 200 ? `${cuid.slice(0, 200)}…` : cuid,
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

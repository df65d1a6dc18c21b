import { performRows, type RowsOptions, type RowsResult, type RowsTaker } from '../row-job.js';
import { rehearseCall, type RehearsedCall } from './rehearse-call.js';
import { isScriptRow, requiredColumns, ScriptReader, type ScriptRow } from './call-script.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { RowBlock } from '../../input/row-block.js';
import type { JobHooks } from '../job-hooks.js';
import type { World } from '../job-context.js';
import type { CallingAccount } from './phone.js';

export interface RunCallsOptions extends RowsOptions {
  /** Most calls at once. */
  readonly concurrency: number;
}

/** What came of a row. */
export interface CallOutcome extends Partial<RehearsedCall> {
  readonly source: string;
  readonly line: number;
  readonly outcome: 'accepted' | 'rejected';
  readonly caller?: string;
  readonly callee?: string;
  readonly expect?: string;
  /** Why it was rejected. */
  readonly error?: string;
}

export interface RunCallsHooks extends JobHooks<RowsResult> {
  readonly outcome?: (outcome: CallOutcome) => void;
}

const kind = {
  name: 'call run',
  columns: requiredColumns,
  fix: 'a script has the columns caller, callee, context, and may have callee_does and expect',
  rejected: 'did not go as expected',
};

/** Makes the calls of a script, both ends in this process, and compares how they end. */
export async function runCalls(
  options: RunCallsOptions,
  account: CallingAccount,
  world: World,
  hooks: RunCallsHooks = {},
): Promise<RowsResult> {
  const { concurrency } = options;
  return performRows(
    kind,
    { options, world, hooks },
    (tally) => new CallScript({ concurrency, account, world, tally, told: hooks.outcome }),
  );
}

interface ScriptParts {
  readonly concurrency: number;
  readonly account: CallingAccount;
  readonly world: World;
  readonly tally: Tally;
  readonly told: RunCallsHooks['outcome'] | undefined;
}

class CallScript implements RowsTaker<object> {
  readonly #parts: ScriptParts;
  readonly #reader = new ScriptReader();
  readonly #running = new Set<Promise<void>>();
  /** A cuid has one phone and one call at a time. */
  readonly #inUse = new Set<string>();
  #failure: { readonly error: unknown } | undefined;

  constructor(parts: ScriptParts) {
    this.#parts = parts;
  }

  async take(rows: RowBlock): Promise<void> {
    const { tally, told } = this.#parts;
    for (const fault of rows.faults) {
      tally.fault(rows, fault);
      told?.({ source: rows.source, line: fault.line, outcome: 'rejected', error: fault.error });
    }
    for (let row = 0; row < rows.count; row += 1) {
      const read = this.#reader.read(rows, row);
      if (isScriptRow(read)) await this.#start(read, rows, row);
      else this.#reject(rows, row, read.stage === 'parse' ? 'parse' : 'validate', read.error);
    }
  }

  async finish(): Promise<void> {
    while (this.#running.size > 0) await Promise.race(this.#running);
    this.#throwFailure();
  }

  async close(): Promise<void> {
    await Promise.all(this.#running);
  }

  more(): object {
    return {};
  }

  /** As soon as there is room, and both cuids are free. */
  async #start(call: ScriptRow, rows: RowBlock, row: number): Promise<void> {
    const { concurrency, world } = this.#parts;
    const { signal } = world.runtime;
    const isBlocked = () =>
      this.#running.size >= concurrency ||
      this.#inUse.has(call.caller) ||
      this.#inUse.has(call.callee);
    while (isBlocked()) await Promise.race(this.#running);
    this.#throwFailure();
    signal.throwIfAborted();
    const cuids = [call.caller, call.callee];
    for (const cuid of cuids) this.#inUse.add(cuid);
    const running = this.#make(call, rows, row).finally(() => {
      for (const cuid of cuids) this.#inUse.delete(cuid);
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  async #make(call: ScriptRow, rows: RowBlock, row: number): Promise<void> {
    const { account, world, tally, told } = this.#parts;
    try {
      const { difference, ...course } = await rehearseCall(call, account, world);
      const { caller, callee, expect } = call;
      const named = { caller, callee, expect, ...course };
      if (difference !== undefined) return this.#reject(rows, row, 'service', difference, named);
      tally.accept(rows, row);
      told?.({ source: rows.source, line: rows.lines[row]!, outcome: 'accepted', ...named });
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  // oxlint-disable-next-line max-params -- a row, and what is said of it
  #reject(
    rows: RowBlock,
    row: number,
    stage: 'parse' | 'validate' | 'service',
    error: string,
    course: Partial<CallOutcome> = {},
  ): void {
    this.#parts.tally.turnDown(rows, row, { stage, error });
    const place = { source: rows.source, line: rows.lines[row]! };
    this.#parts.told?.({ ...place, outcome: 'rejected', ...course, error });
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

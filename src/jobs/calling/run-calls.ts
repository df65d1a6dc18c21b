import { runRowJob, type RowsOptions, type RowJobResult, type RowConsumer } from '../row-job.js';
import {
  isScriptRow,
  requiredColumns,
  CallScriptReader,
  answerOf,
  type CallScriptRow,
} from './call-script.js';
import { CallEvent, isTerminal } from '../../calling/protocol.js';
import {
  apiKeyRemover,
  AutoAnswer,
  CallError,
  openPhone,
  type CallingAccount,
  type PhoneEvent,
} from './phone.js';
import { mostEvents, placeCall, type PlaceResult } from './place-call.js';
import { toneVoice, type ToneVoice } from './voice.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { RowBlock } from '../../input/row-block.js';
import type { JobHooks } from '../job-results.js';
import type { JobContext } from '../job-context.js';

export interface RunCallsOptions extends RowsOptions {
  /** Maximum concurrent calls. */
  readonly concurrency: number;
}

/** Outcome of a row. */
export interface CallOutcome extends Partial<TestCallResult> {
  readonly source: string;
  readonly line: number;
  readonly outcome: 'accepted' | 'rejected';
  readonly caller?: string;
  readonly callee?: string;
  readonly expect?: string;
  /** Cause of the rejection. */
  readonly error?: string;
}

interface RunCallsHooks extends JobHooks<RowJobResult> {
  readonly outcome?: (outcome: CallOutcome) => void;
}

const kind = {
  name: 'call run',
  columns: requiredColumns,
  fix: 'add the columns caller, callee and context (optional: callee_does, expect)',
  rejected: 'did not go as expected',
};

/** Makes the calls of a script with both phones in this process, and compares their endings. */
export async function runCalls(
  options: RunCallsOptions,
  account: CallingAccount,
  context: JobContext,
  hooks: RunCallsHooks = {},
): Promise<RowJobResult> {
  const { concurrency } = options;
  return runRowJob(
    kind,
    { options, context, hooks },
    (tally) => new CallScript({ concurrency, account, context, tally, onOutcome: hooks.outcome }),
  );
}

interface ScriptParts {
  readonly concurrency: number;
  readonly account: CallingAccount;
  readonly context: JobContext;
  readonly tally: Tally;
  readonly onOutcome: RunCallsHooks['outcome'] | undefined;
}

class CallScript implements RowConsumer<object> {
  readonly #parts: ScriptParts;
  readonly #reader = new CallScriptReader();
  readonly #withoutKey: ReturnType<typeof apiKeyRemover>;
  readonly #running = new Set<Promise<void>>();
  /** Cuids in use; each has one phone and one call at a time. */
  readonly #inUse = new Set<string>();
  #failure: { readonly error: unknown } | undefined;

  constructor(parts: ScriptParts) {
    this.#parts = parts;
    this.#withoutKey = apiKeyRemover(parts.account);
  }

  async take(rows: RowBlock): Promise<void> {
    const { tally, onOutcome } = this.#parts;
    for (const parseError of rows.parseErrors) {
      tally.parseError(rows, parseError);
      onOutcome?.({
        source: rows.source,
        line: parseError.line,
        outcome: 'rejected',
        error: parseError.error,
      });
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

  /** Starts a call once the concurrency limit allows it and both cuids are free. */
  async #start(call: CallScriptRow, rows: RowBlock, row: number): Promise<void> {
    const { concurrency, context } = this.#parts;
    const { signal } = context.runtime;
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

  async #make(call: CallScriptRow, rows: RowBlock, row: number): Promise<void> {
    const { account, context, tally, onOutcome } = this.#parts;
    try {
      const result = await runTestCall(call, account, context);
      const { difference, ...course } = this.#withoutKey(result);
      // Ctrl-C hung up this call, so its end says nothing about the row.
      context.runtime.signal.throwIfAborted();
      const { caller, callee, expect } = call;
      const named = { caller, callee, expect, ...course };
      if (difference !== undefined) return this.#reject(rows, row, 'service', difference, named);
      tally.accept(rows, row);
      onOutcome?.({ source: rows.source, line: rows.lines[row]!, outcome: 'accepted', ...named });
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
    this.#parts.tally.reject(rows, row, { stage, error });
    const place = { source: rows.source, line: rows.lines[row]! };
    this.#parts.onOutcome?.({ ...place, outcome: 'rejected', ...course, error });
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/** Result of a call of a script. */
interface TestCallResult {
  /** Last event of the caller, or the name of an error. */
  readonly ending: string;
  readonly callerEvents: readonly string[];
  readonly calleeEvents: readonly string[];
  readonly seconds: number;
  /** Difference from the expectation; undefined if there is none. */
  readonly difference: string | undefined;
}

/** Maximum delay of the receiver's last event after the caller's, in milliseconds. */
const longestLag = 2000;

/** Makes one call with both phones. Throws errors that would affect all calls. */
async function runTestCall(
  row: CallScriptRow,
  account: CallingAccount,
  context: Pick<JobContext, 'runtime' | 'messages'>,
): Promise<TestCallResult> {
  // A cuid has only one phone, so nobody can answer a call to itself.
  const isElsewhere = row.calleeDoes === 'absent' || row.calleeDoes === 'external';
  const receiver =
    isElsewhere || row.callee === row.caller
      ? undefined
      : await openReceiver(row, account, context);
  const voice = row.voice === undefined ? undefined : await toneVoice(row.voice);
  try {
    const { caller: cuid, callee: to, context: callContext, hangupAfter, cancelAfter } = row;
    const options = {
      ...(voice && {
        media: voice.media,
        hangupWhen: Promise.all([voice.heard, receiver?.voice?.heard]),
      }),
      cuid,
      to,
      context: callContext,
      hangupAfter,
      ...(cancelAfter !== undefined && { cancelAfter }),
    };
    const placed = await placeCall(options, account, context);
    if (placed.error instanceof CallError) throw placed.error;
    if (placed.error && placed.ending === 'NO_NETWORK') throw placed.error;
    await receiver?.waitForEnd(placed);
    const callerEvents = placed.events.map(({ event }) => event);
    const calleeEvents = receiver?.eventsOf(placed.callId) ?? [];
    const { ending, seconds, wasInProgress } = placed;
    const course = { ending, callerEvents, calleeEvents, seconds };
    const difference =
      differenceOf(row, course, wasInProgress) ??
      toneDifference(row, 'caller', voice) ??
      toneDifference(row, 'receiver', receiver?.voice);
    return { ...course, difference };
  } catch (error) {
    if (!(error instanceof CallError) || isOfAll(error)) throw error;
    const ending = error.answered.errorName;
    const course = { ending, callerEvents: [], calleeEvents: [], seconds: 0 };
    return { ...course, difference: differenceOf(row, course, false) };
  } finally {
    receiver?.close();
  }
}

/** Whether an error would affect all calls of the script. */
const isOfAll = ({ answered: { errorName } }: CallError): boolean =>
  errorName === 'AUTH_FAILURE' || errorName === 'NO_NETWORK' || errorName === 'FEATURE_OFF';

/** Deviation of a tone that still counts as the same. */
const toneTolerance = 0.02;

/** Returns how the tone that a side heard differs from the one that the other side sends. */
function toneDifference(
  { voice: expected }: CallScriptRow,
  side: 'caller' | 'receiver',
  voice: ToneVoice | undefined,
): string | undefined {
  if (expected === undefined || voice === undefined) return undefined;
  const heard = voice.frequency();
  if (heard === undefined) return `the ${side} did not hear a tone for a second`;
  if (Math.abs(heard / expected - 1) <= toneTolerance) return undefined;
  return `the ${side} heard a tone of ${Math.round(heard)} Hz, not ${expected} Hz`;
}

type Course = Omit<TestCallResult, 'difference'>;

function differenceOf(
  row: CallScriptRow,
  course: Course,
  wasInProgress: boolean,
): string | undefined {
  const { ending, callerEvents, calleeEvents } = course;
  if (ending !== row.expect) return `it ended with ${ending}, not ${row.expect}`;
  if (ending === CallEvent.Ended && !wasInProgress) return 'it ended before it was in progress';
  // The events of an app are its own affair.
  if (row.calleeDoes === 'external') return undefined;
  const callerReports = ending === CallEvent.ReceiverBusyOnAnotherCall ? [] : callerEvents.slice(1);
  if (callerReports.join() === calleeEvents.join()) return undefined;
  return `the receiver got ${calleeEvents.join(', ') || 'no events'}, the caller ${callerReports.join(', ')}`;
}

async function openReceiver(
  { callee: cuid, calleeDoes, answerAfter, voice: hertz }: CallScriptRow,
  account: CallingAccount,
  context: Pick<JobContext, 'runtime' | 'messages'>,
) {
  const { sleep } = context.runtime;
  /** The latest events, also of other calls. */
  const events: PhoneEvent[] = [];
  const lag = new AbortController();
  let failed: unknown;
  let awaitedCall: string | null | undefined;
  const isOver = ({ callId, event }: PhoneEvent) =>
    callId === awaitedCall && event !== 'MissedCallActionClicked' && isTerminal(event);
  const endIfOver = () => {
    if (events.some(isOver)) lag.abort();
  };
  const how = { answer: answerOf(calleeDoes), answerAfter };
  const answering = new AutoAnswer(how, context.runtime, {
    failed: (error) => {
      failed ??= error;
      lag.abort();
    },
  });
  const voice = hertz === undefined ? undefined : await toneVoice(hertz);
  const phone = openPhone(
    {
      cuid,
      ...(voice && { media: voice.media }),
      ...(calleeDoes === 'no-microphone' && { microphone: 'denied' }),
      ...(calleeDoes === 'notifications-off' && { notifications: 'off' }),
    },
    account,
    context,
    {
      rings: (call) => answering.rings(phone, call),
      event: (event) => {
        events.push(event);
        if (events.length > mostEvents) events.shift();
        answering.handleEvent(phone, event);
        endIfOver();
      },
    },
  );
  const opened = await phone;
  return {
    voice,
    eventsOf: (callId: string | null) =>
      events.filter((event) => event.callId === callId).map(({ event }) => event),
    /**
     * Waits for the receiver's last event of this call, which may arrive after the caller's. The router may also
     * deliver the end of a call of an earlier run that was killed.
     */
    waitForEnd: async ({ events: callerReports, callId }: PlaceResult) => {
      if (callerReports.at(-1)?.event === CallEvent.ReceiverBusyOnAnotherCall) return;
      awaitedCall = callId;
      endIfOver();
      await sleep(longestLag, lag.signal).catch(() => undefined);
      if (failed !== undefined) throw failed;
    },
    close: () => {
      answering.stop();
      opened.close();
    },
  };
}

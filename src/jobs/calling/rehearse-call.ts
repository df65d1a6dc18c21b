import { CallEvent, isTerminal } from '../../calling/call-event.js';
import { Answering } from './answering.js';
import { CallError } from './call-error.js';
import { openPhone, type CallingAccount, type PhoneEvent } from './phone.js';
import { placeCall } from './place-call.js';
import { answerOf, type ScriptRow } from './call-script.js';
import type { World } from '../job-context.js';

/** What came of a call of a script. */
export interface RehearsedCall {
  /** The last event of the caller, or the name of an error. */
  readonly ending: string;
  readonly callerEvents: readonly string[];
  readonly calleeEvents: readonly string[];
  readonly seconds: number;
  /** How it differs from what was expected; undefined when it does not. */
  readonly difference: string | undefined;
}

/** For which the receiver may hear of the end later than the caller. */
const longestLag = 2000;

/** Makes one call, both of whose phones are here. Throws what makes all others fail as well. */
export async function rehearseCall(
  row: ScriptRow,
  account: CallingAccount,
  world: Pick<World, 'runtime' | 'said'>,
): Promise<RehearsedCall> {
  // A cuid is on one phone: who calls itself has none to take the call with.
  const isAbsent = row.calleeDoes === 'absent' || row.callee === row.caller;
  const receiver = isAbsent ? undefined : await openReceiver(row, account, world);
  try {
    const { caller: cuid, callee: to, context, hangupAfter, cancelAfter } = row;
    const options = {
      cuid,
      to,
      context,
      hangupAfter,
      ...(cancelAfter !== undefined && { cancelAfter }),
    };
    const placed = await placeCall(options, account, world);
    if (placed.error instanceof CallError) throw placed.error;
    if (placed.error && placed.ending === 'NO_NETWORK') throw placed.error;
    await receiver?.heardEnd(placed.events);
    const callerEvents = placed.events.map(({ event }) => event);
    const calleeEvents = receiver?.eventsOf(placed.callId) ?? [];
    const { ending, seconds, wasInProgress } = placed;
    const course = { ending, callerEvents, calleeEvents, seconds };
    return { ...course, difference: differenceOf(row, course, wasInProgress) };
  } catch (error) {
    if (!(error instanceof CallError) || isOfAll(error)) throw error;
    const ending = error.answered.errorName;
    const course = { ending, callerEvents: [], calleeEvents: [], seconds: 0 };
    return { ...course, difference: differenceOf(row, course, false) };
  } finally {
    receiver?.close();
  }
}

/** Errors that no other call of the script would escape. */
const isOfAll = ({ answered: { errorName } }: CallError): boolean =>
  errorName === 'AUTH_FAILURE' || errorName === 'NO_NETWORK' || errorName === 'FEATURE_OFF';

type Course = Omit<RehearsedCall, 'difference'>;

function differenceOf(row: ScriptRow, course: Course, wasInProgress: boolean): string | undefined {
  const { ending, callerEvents, calleeEvents } = course;
  if (ending !== row.expect) return `it ended with ${ending}, not ${row.expect}`;
  if (ending === CallEvent.Ended && !wasInProgress) return 'it ended before it was in progress';
  const told = ending === CallEvent.ReceiverBusyOnAnotherCall ? [] : callerEvents.slice(1);
  if (told.join() === calleeEvents.join()) return undefined;
  return `the receiver was told ${calleeEvents.join(', ') || 'nothing'}, the caller ${told.join(', ')}`;
}

async function openReceiver(
  { callee: cuid, calleeDoes, answerAfter }: ScriptRow,
  account: CallingAccount,
  world: Pick<World, 'runtime' | 'said'>,
) {
  const { sleep } = world.runtime;
  const answering = new Answering({ answer: answerOf(calleeDoes), answerAfter }, world.runtime);
  const events: PhoneEvent[] = [];
  const lag = new AbortController();
  const phone = openPhone(
    {
      cuid,
      ...(calleeDoes === 'no-microphone' && { microphone: 'denied' }),
      ...(calleeDoes === 'notifications-off' && { notifications: 'off' }),
    },
    account,
    world,
    {
      rings: (call) => void phone.then(async (opened) => answering.rings(opened, call)),
      event: (event) => {
        events.push(event);
        void phone.then(async (opened) => answering.heard(opened, event));
        if (event.event !== 'MissedCallActionClicked' && isTerminal(event.event)) lag.abort();
      },
    },
  );
  const opened = await phone;
  return {
    eventsOf: (callId: string | null) =>
      events.filter((event) => event.callId === callId).map(({ event }) => event),
    /** What the caller was told, the receiver may be told a moment later. */
    heardEnd: async (told: readonly PhoneEvent[]) => {
      if (told.at(-1)?.event === CallEvent.ReceiverBusyOnAnotherCall) return;
      await sleep(longestLag, lag.signal).catch(() => undefined);
    },
    close: () => {
      answering.stop();
      opened.close();
    },
  };
}

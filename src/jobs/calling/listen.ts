import { CallEvent, isTerminal, type MissedCallActions } from '../../calling/protocol.js';
import { EngagectlError } from '../../errors.js';
import { whenAborted, type JobContext } from '../job-context.js';
import {
  AutoAnswer,
  openPhone,
  type AnsweringOptions,
  type AskPerson,
  type CallingAccount,
  type PhoneHooks,
  type PhoneOptions,
} from './phone.js';
import { readJsonFile } from '../input-files.js';

export interface ListenOptions extends PhoneOptions, AnsweringOptions {
  /** Until the first call is over. */
  readonly once?: boolean;
}

interface ListenHooks extends PhoneHooks {
  /** Calls come from now on. */
  readonly ready?: () => void;
  readonly ask?: AskPerson;
}

/** Of a phone that does not ring. */
const declinedUnheard = CallEvent.DeclinedDueToNotificationsDisabled;

/** For which the end of a call may take that was hung up. */
const longestEnd = 8000;

/**
 * Takes calls until the signal, which hangs up; with `once` until the first one is over. Throws what
 * the phone was not let in for, and the reason of the signal.
 */
export async function listenForCalls(
  options: ListenOptions,
  account: CallingAccount,
  world: Pick<JobContext, 'runtime' | 'said'>,
  hooks: ListenHooks,
): Promise<void> {
  const { signal, sleep } = world.runtime;
  const answering = new AutoAnswer(options, world.runtime, hooks.ask);
  const over = new AbortController();
  /** The call that was hung up at the end has ended. */
  const hungUp = new AbortController();
  /** Other calls were over before this phone was there. */
  const rung = new Set<string>();
  let failed: unknown;
  const watch = (work: Promise<void>) =>
    void work.catch((error: unknown) => {
      failed = error;
      over.abort();
    });
  // Calls that waited at the router ring before the phone is handed over.
  const phone = openPhone(options, account, world, {
    missed: (call) => hooks.missed?.(call),
    refused: (errorName) => {
      failed = replaced(options.cuid, errorName);
      over.abort();
    },
    rings: (call) => {
      rung.add(call.callId);
      hooks.rings?.(call);
      watch(phone.then(async (opened) => answering.rings(opened, call)));
    },
    event: (event) => {
      hooks.event(event);
      watch(phone.then(async (opened) => answering.heard(opened, event)));
      if (event.event === 'MissedCallActionClicked' || !isTerminal(event.event)) return;
      const isOfHere = rung.has(event.callId) || event.event === declinedUnheard;
      if (over.signal.aborted || signal.aborted) hungUp.abort();
      else if (isOfHere && options.once) over.abort();
    },
  });
  const opened = await phone;
  try {
    hooks.ready?.();
    await whenAborted(AbortSignal.any([over.signal, signal]));
    if (opened.getCallState() !== 'NoCall') {
      answering.stop();
      opened.hangup();
      await sleep(longestEnd, hungUp.signal).catch(() => undefined);
    }
    await opened.whenIdle();
  } finally {
    answering.stop();
    opened.close();
  }
  if (failed !== undefined) throw failed;
  signal.throwIfAborted();
}

const replaced = (cuid: string, errorName: string): EngagectlError =>
  new EngagectlError('E-CALL', `${cuid} gets no more calls here: ${errorName}`, {
    why: 'the router does not let this phone back: another process has its cuid now, or its key is no good any more',
    fix: 'end the other program that uses this cuid, or take another one',
  });

/** Of a missed call's notification: at most three identifiers, each with the label of its button. Throws E-FORMAT. */
export async function readMissedActions(
  file: string,
  runtime: Pick<JobContext['runtime'], 'cwd' | 'signal'>,
): Promise<MissedCallActions> {
  const actions = await readJsonFile(file, runtime);
  const entries = typeof actions === 'object' && actions !== null ? Object.entries(actions) : [];
  const isGood =
    !Array.isArray(actions) &&
    entries.length >= 1 &&
    entries.length <= 3 &&
    entries.every(([id, label]) => id !== '' && typeof label === 'string' && label !== '');
  if (isGood) return actions as MissedCallActions;
  throw new EngagectlError('E-FORMAT', `${file} holds no actions of a missed call`, {
    why: 'a JSON object of one to three identifiers is needed, each with the label of its button',
    fix: 'write it like {"later":"Call me later"}',
    file,
  });
}

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
  /** Stop after the first call. */
  readonly once?: boolean;
}

interface ListenHooks extends PhoneHooks {
  /** Called when the phone is ready to receive calls. */
  readonly ready?: () => void;
  readonly ask?: AskPerson;
}

/** Event of a phone that does not ring. */
const declinedSilently = CallEvent.DeclinedDueToNotificationsDisabled;

/** Maximum time for a call to end after hanging up, in milliseconds. */
const longestEnd = 8000;

/**
 * Answers calls until the signal is aborted, then hangs up; with `once`, until the end of the first
 * call. Throws the errors of `openPhone`, and the reason of the signal.
 */
export async function listenForCalls(
  options: ListenOptions,
  account: CallingAccount,
  context: Pick<JobContext, 'runtime' | 'messages'>,
  hooks: ListenHooks,
): Promise<void> {
  const { signal, sleep } = context.runtime;
  const over = new AbortController();
  /** Aborted when the call that was hung up at the end is over. */
  const hungUp = new AbortController();
  /** Ids of calls that rang here. Others ended before this phone connected, or before it had decided to ring. */
  const rung = new Set<string>();
  let isReady = false;
  let failed: unknown;
  const answering = new AutoAnswer(options, context.runtime, {
    ask: hooks.ask,
    failed: (error) => {
      failed = error;
      over.abort();
    },
  });
  // Calls that waited at the router ring before openPhone resolves.
  const phone = openPhone(options, account, context, {
    missed: (call) => hooks.missed?.(call),
    refused: (errorName) => {
      failed = replaced(options.cuid, errorName);
      over.abort();
    },
    rings: (call) => {
      rung.add(call.callId);
      hooks.rings?.(call);
      answering.rings(phone, call);
    },
    event: (event) => {
      hooks.event(event);
      answering.handleEvent(phone, event);
      if (event.event === 'MissedCallActionClicked' || !isTerminal(event.event)) return;
      const cameHere = isReady && event.direction === 'Incoming' && event.channel === 'Socket';
      const isOfHere = cameHere || rung.has(event.callId) || event.event === declinedSilently;
      if (over.signal.aborted || signal.aborted) hungUp.abort();
      else if (isOfHere && options.once) over.abort();
    },
  });
  const opened = await phone;
  try {
    isReady = true;
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

const replaced = (cuid: string, errorName: string): EngagectlError => {
  const isKey = errorName === 'AUTH_FAILURE';
  return new EngagectlError('E-CALL', `${cuid} receives no more calls here: ${errorName}`, {
    why: isKey
      ? 'the router rejects the API key, or another program answers at its address'
      : 'the router rejects this phone, because another process uses its cuid',
    fix: isKey
      ? 'check the API key and what listens at that address, then start this command again'
      : 'stop the other program that uses this cuid, or use another cuid',
  });
};

/** Reads the buttons of missed-call notifications: one to three ids with labels. Throws E-FORMAT. */
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
  throw new EngagectlError('E-FORMAT', `${file} contains no missed-call actions`, {
    why: 'expected a JSON object of one to three ids, each with the label of its button',
    fix: 'use the form {"later":"Call me later"}',
    file,
  });
}

import { EngagectlError, type ErrorId } from '../../errors.js';
import { validateCallRequest } from '../../calling/call-request.js';
import { errorTable, type SignedCallError } from '../../calling/errors.js';
import { validateCuid } from '../../calling/cuid.js';

/** SDK errors with an id of their own; all others are E-CALL. */
const ids: Readonly<Partial<Record<SignedCallError['errorName'], ErrorId>>> = {
  AUTH_FAILURE: 'E-CREDENTIALS',
  NO_NETWORK: 'E-UNAVAILABLE',
  NOT_REACHABLE: 'E-UNAVAILABLE',
  RECEIVER_NETWORK_LOST: 'E-UNAVAILABLE',
  BAD_NETWORK: 'E-UNAVAILABLE',
};

const checkCallingAccount = 'check the calling account and its key: engagectl config show';

const fixes: Readonly<Partial<Record<SignedCallError['errorName'], string>>> = {
  AUTH_FAILURE: checkCallingAccount,
  NO_NETWORK: 'check that the calling system runs, and its address',
  NOT_REACHABLE: 'connect the receiver once: engagectl call listen --cuid <cuid>',
  CUID_ELSEWHERE: 'stop the other program that uses this cuid, or use another cuid',
  CALL_IN_PROGRESS: 'wait for the end of the other call of this cuid',
};

/** An error of the calling SDK. */
export class CallError extends EngagectlError {
  readonly answered: SignedCallError;

  constructor(answered: SignedCallError, what: string) {
    const { errorName, errorCode, errorDescription } = answered;
    super(ids[errorName] ?? 'E-CALL', `${what}: ${errorName} (${errorCode})`, {
      why: errorDescription,
      fix: fixes[errorName] ?? `see ${errorName} in docs/calling.md`,
    });
    this.answered = answered;
  }
}

/** Rewrites the error for the calling system, whose accounts have an API key, not a passcode. */
export const accountRejectedError = (cause: EngagectlError): EngagectlError =>
  new EngagectlError('E-CREDENTIALS', 'the calling system rejected the account', {
    why: 'wrong account id or API key',
    fix: checkCallingAccount,
    cause,
  });

/** Throws E-USAGE for a cuid that the SDK would reject. */
export function checkCuid(cuid: string, option: string): void {
  const wrong = validateCuid(cuid).filter(({ severity }) => severity === 'error');
  if (wrong.length === 0) return;
  throw new EngagectlError('E-USAGE', `${option} ${JSON.stringify(cuid)} is not a valid cuid`, {
    why: `it ${wrong.map(({ message }) => message).join('; ')}`,
    fix: 'use 5 to 50 ASCII letters, digits and _, like ann_1',
  });
}

interface Placement {
  readonly cuid: string;
  readonly to: string;
  readonly context: string;
}

/** Throws E-USAGE for a call that the SDK would reject without asking the router. */
export function checkCallOptions({ cuid, to, context }: Placement): void {
  checkCuid(cuid, '--cuid');
  checkCuid(to, '--to');
  const fault = validateCallRequest({
    cuid,
    receiverCuid: to,
    callContext: context,
    callProperties: undefined,
  });
  if (fault === undefined) return;
  const { message, description } = errorTable[fault.name];
  throw new EngagectlError('E-USAGE', `the call to ${to} cannot be placed: ${fault.name}`, {
    why: fault.detail ?? description,
    fix: `${message}: correct --to or --context`,
  });
}

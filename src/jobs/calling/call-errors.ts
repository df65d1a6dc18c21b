import { EngagectlError, type ErrorId } from '../../errors.js';
import { validateCallRequest } from '../../calling/call-request.js';
import { errorTable, type SignedCallError } from '../../calling/errors.js';
import { validateCuid } from '../../calling/cuid.js';

/** Errors of the SDK that are more than "the call did not get through". */
const ids: Readonly<Partial<Record<SignedCallError['errorName'], ErrorId>>> = {
  AUTH_FAILURE: 'E-CREDENTIALS',
  NO_NETWORK: 'E-UNAVAILABLE',
  NOT_REACHABLE: 'E-UNAVAILABLE',
  RECEIVER_NETWORK_LOST: 'E-UNAVAILABLE',
  BAD_NETWORK: 'E-UNAVAILABLE',
};

export const checkCallingAccount = 'check the calling account and its key: engagectl config show';

const fixes: Readonly<Partial<Record<SignedCallError['errorName'], string>>> = {
  AUTH_FAILURE: checkCallingAccount,
  NO_NETWORK: 'check the address of the calling system, and that it runs',
  NOT_REACHABLE: 'the receiver has to be at the router once: engagectl call listen --cuid <cuid>',
  CUID_ELSEWHERE: 'end the other program that uses this cuid, or take another one',
  CALL_IN_PROGRESS: 'wait until the other call of this cuid is over',
};

/** What the SDK answered, as an error of ours. */
export class CallError extends EngagectlError {
  readonly answered: SignedCallError;

  constructor(answered: SignedCallError, what: string) {
    const { errorName, errorCode, errorDescription } = answered;
    super(ids[errorName] ?? 'E-CALL', `${what}: ${errorName} (${errorCode})`, {
      why: errorDescription,
      fix: fixes[errorName] ?? 'see docs/calling.md, which says when this error comes',
    });
    this.answered = answered;
  }
}

/** Throws E-USAGE for a cuid that the SDK would not take. */
export function checkCuid(cuid: string, option: string): void {
  const wrong = validateCuid(cuid).filter(({ severity }) => severity === 'error');
  if (wrong.length === 0) return;
  throw new EngagectlError('E-USAGE', `${option} ${JSON.stringify(cuid)} is no cuid`, {
    why: `it ${wrong.map(({ message }) => message).join('; ')}`,
    fix: 'use 5 to 50 ASCII letters, digits and _, like ann_1',
  });
}

interface Placement {
  readonly cuid: string;
  readonly to: string;
  readonly context: string;
}

/** Throws E-USAGE for a call that the SDK would not make, whatever the router says. */
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
  throw new EngagectlError('E-USAGE', `the call cannot be placed: ${fault.name}`, {
    why: fault.detail ?? description,
    fix: `${message}: correct --to or --context`,
  });
}

import type { SignedCallError } from '../../calling/calling.js';
import { EngagectlError, type ErrorId } from '../../errors.js';

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

import type { ErrorName } from './error-table.js';
import type { Answer } from './link.js';
import type { RefusalName } from './protocol.js';
import type { Fault } from './response.js';

/** What an answer means for who asked; undefined: all is well. */
export function faultOf(answer: Answer): Fault | undefined {
  switch (answer.kind) {
    case 'ok':
      return undefined;
    case 'refused':
      return { name: errorNameOf(answer.refusal.name), detail: answer.refusal.message };
    case 'timeout':
    case 'lost':
      return { name: 'NO_NETWORK' };
    default:
      return answer satisfies never;
  }
}

/** A later router may refuse by names that this client does not know. */
function errorNameOf(refusal: RefusalName): ErrorName {
  switch (refusal) {
    case 'BAD_REQUEST':
    case 'AUTH_FAILURE':
    case 'CUID_ELSEWHERE':
    case 'NOT_REACHABLE':
    case 'SELF_CALL':
    case 'CALL_IN_PROGRESS':
    case 'FEATURE_OFF':
      return refusal;
    default:
      return 'CALL_FAILED';
  }
}

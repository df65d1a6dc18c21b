import { errorTable, type ErrorName } from './errors.js';
import type { Answer } from './socket.js';
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

/** The names of errors are refused by; another one is of the protocol alone, or of a later router. */
const errorNameOf = (refusal: string): ErrorName =>
  Object.hasOwn(errorTable, refusal) ? (refusal as ErrorName) : 'CALL_FAILED';

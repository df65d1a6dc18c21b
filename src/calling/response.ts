import { errorTable, type ErrorName } from './errors.js';
import type { Platform } from './protocol.js';

/** What `initialize` and `call` resolve with. Failures of operation or value always resolve. */
export interface SignedCallResponse {
  readonly isSuccessful: boolean;
  readonly error: SignedCallError | null;
}

export interface SignedCallError {
  /** The platform's number. It may mean something else on the other platform. */
  readonly errorCode: number;
  readonly errorMessage: string;
  readonly errorDescription: string;
  /** The same on both platforms: compare with this. */
  readonly errorName: ErrorName;
}

/** What went wrong, before a platform's number is given to it. */
export interface Fault {
  readonly name: ErrorName;
  /** More exact than the table's description. */
  readonly detail?: string | undefined;
  /** The property at fault, where the number depends on it. */
  readonly field?: string | undefined;
}

export const success: SignedCallResponse = { isSuccessful: true, error: null };

export function failed(fault: Fault, platform: Platform): SignedCallResponse {
  const { message, description } = errorTable[fault.name];
  const error = {
    errorCode: errorNumber(fault, platform),
    errorMessage: message,
    errorDescription: fault.detail ?? description,
    errorName: fault.name,
  };
  return { isSuccessful: false, error };
}

/** An error that cannot happen on a platform has 0 there. */
export function errorNumber({ name, field }: Fault, platform: Platform): number {
  const number = errorTable[name][platform];
  if (typeof number === 'object') return number[field === 'apiKey' ? 'apiKey' : 'accountId'];
  return typeof number === 'number' ? number : 0;
}

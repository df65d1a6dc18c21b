import { requestCodes, requestTexts } from '../contract/error-codes.js';
import type { Answer } from './response.js';

/** A request refused as a whole: `{"status":"fail","error":…,"code":…}`. */
export class Refusal extends Error {
  readonly httpStatus: number;
  readonly code: number | string | undefined;

  /** `code` is missing from the body when undefined. */
  constructor(httpStatus: number, text: string, code: number | string | undefined) {
    super(text);
    this.name = 'Refusal';
    this.httpStatus = httpStatus;
    this.code = code;
  }
}

/** A refusal whose code is its HTTP status, as it mostly is. */
export const refused = (httpStatus: number, text: string): Refusal =>
  new Refusal(httpStatus, text, httpStatus);

export const malformed = (): Refusal => refused(400, 'Malformed request');
export const stillPending = (): Refusal =>
  new Refusal(200, requestTexts.pending, requestCodes.pending);
export const incorrectUsage = (): Refusal =>
  new Refusal(200, requestTexts.incorrectUsage, requestCodes.incorrectUsage);

export function refusalAnswer({ httpStatus, message, code }: Refusal): Answer {
  const members = { status: '"fail"', error: JSON.stringify(message) };
  if (code === undefined) return { httpStatus, members };
  return { httpStatus, members: { ...members, code: JSON.stringify(code) } };
}

import type { Refusal } from './refusal.js';

/** The body of an answer, before the wire variants decide about order and whitespace. */
export interface Answer {
  readonly httpStatus: number;
  readonly status: 'success' | 'partial' | 'fail';
  /** JSON text by member name, besides `status`, `records` and `next_cursor`. */
  readonly members: Readonly<Record<string, string>>;
  /** UTF-8 of several records each, joined by commas: read while they are sent. */
  readonly records?: Iterable<Buffer>;
  readonly nextCursor?: string | undefined;
}

export const success = (members: Answer['members'] = {}): Answer => ({
  httpStatus: 200,
  status: 'success',
  members,
});

export function refusalAnswer({ httpStatus, message, code }: Refusal): Answer {
  const error = JSON.stringify(message);
  const members = code === undefined ? { error } : { error, code: JSON.stringify(code) };
  return { httpStatus, status: 'fail', members };
}

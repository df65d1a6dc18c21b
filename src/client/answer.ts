import type * as answers from '../contract/answers.js';
import { FailureError, type Failure } from './failure.js';
import type { Headers } from './arrival.js';

/** An answer that was read to its end, the passcode taken out of its text and JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it came. */
  readonly body: Buffer;
  readonly text: string;
  /** The body's JSON value; undefined when it is none. */
  readonly json: unknown;
}

type Refusal = Extract<Failure, { kind: 'refused' }>;

/** Loaded for the first answer: it takes longer than to send the first request. */
const shapes = async (): Promise<typeof answers> => import('../contract/answers.js');

/**
 * The refusal in an answer, if it is one: by its status, or by a body
 * `{"status":"fail","code":n}` without `processed`, whose code counts instead of the status.
 */
export async function refusalOf({
  status,
  json,
  text,
}: Pick<Answer, 'status' | 'json' | 'text'>): Promise<Refusal | undefined> {
  const fail = await failOf(json);
  if (fail?.code !== undefined) {
    const where = fail.code === status ? `HTTP ${status}` : `HTTP ${status}, code ${fail.code}`;
    return refusal(fail.code, `${where}: ${fail.words}`);
  }
  if (isSuccess(status)) return undefined;
  return refusal(status, `HTTP ${status}: ${fail?.words ?? excerpt(text)}`);
}

const refusal = (status: number, message: string): Refusal => ({
  kind: 'refused',
  sent: true,
  status,
  message,
});

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** What a body says that refuses a whole request; undefined when it does not. */
export async function failOf(
  json: unknown,
): Promise<{ readonly code?: number; readonly words: string } | undefined> {
  const fail = (await shapes()).failAnswer.safeParse(json);
  if (!fail.success || 'processed' in fail.data) return undefined;
  const { code, error } = fail.data;
  const words = excerpt(typeof error === 'string' ? error : (JSON.stringify(error) ?? 'no reason'));
  return /^\d{1,9}$/.test(String(code)) ? { code: Number(code), words } : { words };
}

/** What a schema of contract/answers offers. */
interface Shape<T> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false };
}

/** The answer's content. Throws FailureError when it has another shape. */
export async function contentOf<T>(
  { status, json, text }: Answer,
  shapeOf: (shapes: typeof answers) => Shape<T>,
): Promise<T> {
  const parsed = shapeOf(await shapes()).safeParse(json);
  if (parsed.success) return parsed.data;
  throw unreadable(status, json === undefined ? 'no JSON' : 'JSON of no known shape', text);
}

/** A success by its status whose body is no answer. */
export function unreadable(status: number, what: string, text: string): FailureError {
  const message = `HTTP ${status} with ${what}: ${excerpt(text)}`;
  return new FailureError({ kind: 'unreadable', sent: true, message });
}

/** Bytes of a body that a message quotes. */
const excerptBytes = 200;

/** The beginning of a body as one line. */
function excerpt(text: string): string {
  const line = Buffer.from(text)
    .subarray(0, excerptBytes)
    .toString()
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line === '' ? 'an empty body' : line;
}

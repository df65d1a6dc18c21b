import { isLoopback } from '../contract/endpoints.js';
import { EngagectlError } from '../errors.js';

/** Names of config profiles and regions. `__proto__` would vanish as a key of an object. */
export const namePattern = /^(?!__proto__$)[A-Za-z0-9_-]{1,64}$/;
export const nameCharacters = '1 to 64 of A-Z a-z 0-9 _ and -';

/**
 * Returns the origin of a base URL: https, or http to loopback. Checked after URL parsing, so that
 * `127.1` is loopback and `127.0.0.1.nip.io` is not. Otherwise throws E-BASE-URL; `source` names the
 * flag, variable or profile.
 */
export function validateBaseUrl(text: string, source: string): string {
  const problem = problemOf(text);
  if (problem === undefined) return new URL(text).origin;
  const redacted = redactBaseUrl(text);
  const what = redacted === undefined ? 'the base URL' : `base URL "${redacted}"`;
  throw new EngagectlError('E-BASE-URL', `${what} (${source}) cannot be used`, {
    why: problem,
    fix: 'give the address of the region, like https://eu1.api.example.com',
  });
}

/**
 * Returns what may be shown of a base URL that is not validated: the parts before `@`, and after `?` and `#`, may be
 * secret. Undefined for one with `@`, of which nobody knows where a password ends.
 */
export const redactBaseUrl = (text: string): string | undefined =>
  text.includes('@') ? undefined : text.replace(/[?#][^]*/, (rest) => `${rest[0]}…`);

function problemOf(text: string): string | undefined {
  if (!/^https?:\/\/[^/]/i.test(text)) return 'it must begin with https:// and a host';
  if (text.includes('@')) return 'it must not contain a user name or password';
  if (!/^[\u0021-\u007E\u00A0-\uFFFF]+$/.test(text) || text.includes('\\'))
    return 'it contains a space, a backslash or a control character';
  if (!URL.canParse(text)) return 'it is not a valid URL';
  const url = new URL(text);
  if (/[?#]/.test(text) || url.pathname !== '/')
    return 'it must end after the host (and port): paths are added to it';
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'http is allowed to this machine only, as the passcode would travel in the clear: use https';
  return undefined;
}

/**
 * Runs all work and returns the results. If several fail, one E-CONFIG reports all problems; an error
 * other than of the configuration is thrown as it is.
 */
export async function collectErrors<const Work extends readonly (() => unknown)[]>(
  ...works: Work
): Promise<{ readonly [At in keyof Work]: Awaited<ReturnType<Work[At]>> }> {
  const results = await Promise.allSettled(works.map(async (work) => work()));
  const errors: unknown[] = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  if (errors.length > 0) throw allOf(errors);
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as never;
}

function allOf(errors: readonly unknown[]): unknown {
  const ours = errors.filter((error) => error instanceof EngagectlError);
  const foreign = errors.find((error) => !(error instanceof EngagectlError));
  if (foreign !== undefined || ours.length === 1) return foreign ?? ours[0];
  const joined = (part: (error: EngagectlError) => string | undefined) =>
    [...new Set(ours.map(part))].filter(Boolean).join('; ');
  return new EngagectlError(
    'E-CONFIG',
    joined(({ message }) => message),
    {
      why: joined(({ details }) => details.why),
      fix: joined(({ details }) => details.fix),
      cause: ours[0],
    },
  );
}

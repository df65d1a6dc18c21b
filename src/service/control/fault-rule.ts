import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from 'zod';
import { endpointNames } from '../endpoint-names.js';

const longest = 600_000;

/** What can happen to a request besides an answer. Those marked * come after it was processed. */
export const faultActions = [
  /** The connection is reset. */
  'reset-before',
  /** The same, *. */
  'reset-after',
  /** No answer ever comes. */
  'hang',
  /** The answer breaks off in its middle, *. */
  'cut',
  /** The answer comes byte by byte, with `delayMs` (100) before each, *. */
  'drip',
  /** A page to sign in to a network, with status 200. */
  'html',
  /** Status 200 and no body. */
  'empty',
  /** The answer to a cursor that is out of date. */
  'expire-cursor',
  /** The answer counts one record too many as processed, *. */
  'lie-counts',
] as const;

const headerName = z.string().refine(isValid(validateHeaderName), 'is no name of a header');
const headerValue = z.string().refine(
  isValid((text) => validateHeaderValue('X', text)),
  'cannot stand in a header',
);

const answer = z.strictObject({
  status: z.int().min(200).max(599).default(200),
  headers: z.record(headerName, headerValue).default({}),
  /** Text goes out as it is, anything else as JSON; without one the service says what fits the status. */
  body: z.json().optional(),
});

/** A fault rule as it is given (contract §10). */
export const faultRule = z
  .strictObject({
    /** Every endpoint when it is missing. */
    endpoint: z.enum(endpointNames).optional(),
    /** Some text or number in the body, or a parameter of the URL, is exactly this. */
    match: z.string().min(1).optional(),
    /** So many requests that fit pass first. */
    after: z.int().min(0).default(0),
    /** How often the fault is played; without it until the rule is deleted. */
    times: z.int().min(1).optional(),
    answer: answer.optional(),
    action: z.enum(faultActions).optional(),
    /** Before what the rule says. A rule of a delay alone makes the usual answer late. */
    delayMs: z.int().min(0).max(longest).optional(),
  })
  .check(({ value: { endpoint, answer, action, delayMs }, issues }) => {
    const wrong = (path: string, message: string) =>
      void issues.push({ code: 'custom', path: [path], message, input: action });
    if (answer && action) wrong('action', 'stands beside "answer": one of them only');
    if (!answer && !action && delayMs === undefined)
      wrong('action', 'is missing: give an action, an answer, or delayMs');
    if (action === 'expire-cursor' && !['profiles', 'events', undefined].includes(endpoint))
      wrong('action', `expire-cursor needs a cursor, and "${endpoint}" takes none`);
    if (action === 'lie-counts' && !['upload', 'subscribe', undefined].includes(endpoint))
      wrong('action', `lie-counts needs counts, and "${endpoint}" answers none`);
  });

/** A rule that was checked. */
export type FaultRule = z.output<typeof faultRule>;
/** A rule as it may be given. */
export type FaultRuleInput = z.input<typeof faultRule>;

function isValid(check: (text: string) => void): (text: string) => boolean {
  return (text) => {
    try {
      check(text);
      return true;
    } catch {
      return false;
    }
  };
}

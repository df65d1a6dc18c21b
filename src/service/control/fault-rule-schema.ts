import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from 'zod';
import { endpointNames } from '../../contract/endpoints.js';
import { requestError } from '../response.js';
import { faultActions, type FaultRule, type FaultRuleInput } from './fault-rules.js';

/** Milliseconds. */
const longestDelay = 600_000;

const headerName = z.string().refine(isValid(validateHeaderName), 'is not a header name');
const headerValue = z.string().refine(
  isValid((text) => validateHeaderValue('X', text)),
  'is not a header value',
);

const answer = z.strictObject({
  status: z.int().min(200).max(599).default(200),
  headers: z.record(headerName, headerValue).default({}),
  body: z.json().optional(),
});

const faultRule: z.ZodType<FaultRule, FaultRuleInput> = z
  .strictObject({
    endpoint: z.enum(endpointNames).optional(),
    match: z.string().min(1).optional(),
    after: z.int().min(0).default(0),
    times: z.int().min(1).optional(),
    answer: answer.optional(),
    action: z.enum(faultActions).optional(),
    delayMs: z.int().min(0).max(longestDelay).optional(),
  })
  .check(({ value: { endpoint, answer, action, delayMs }, issues }) => {
    const wrong = (path: string, message: string) =>
      void issues.push({ code: 'custom', path: [path], message, input: action });
    if (answer && action) wrong('action', 'cannot be combined with "answer"');
    if (!answer && !action && delayMs === undefined)
      wrong('action', 'is missing: set "action", "answer" or "delayMs"');
    const needsCursor = action === 'expire-cursor' || action === 'pending';
    if (needsCursor && !['profiles', 'events', undefined].includes(endpoint))
      wrong('action', `${action} needs a cursor, which "${endpoint}" does not accept`);
    if (action === 'lie-counts' && !['upload', 'subscribe', undefined].includes(endpoint))
      wrong('action', `lie-counts needs counts, which "${endpoint}" does not return`);
  });

/** Validates a fault rule; throws RequestError 400 with the path and cause of each error. */
export function parseFaultRule(value: unknown): FaultRule {
  const { data, error } = faultRule.safeParse(value);
  if (data) return data;
  const faults = error.issues.map(
    ({ path, message }) => `${['rule', ...path].join('.')}: ${message}`,
  );
  throw requestError(400, faults.join('; '));
}

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

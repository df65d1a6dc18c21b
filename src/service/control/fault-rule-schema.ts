import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from 'zod';
import { endpointNames } from '../endpoints.js';
import { requestError } from '../response.js';
import { faultActions, type FaultRule, type FaultRuleInput } from './fault-rules.js';

/** Milliseconds. */
const longestDelay = 600_000;

const headerName = z.string().refine(isValid(validateHeaderName), 'is no name of a header');
const headerValue = z.string().refine(
  isValid((text) => validateHeaderValue('X', text)),
  'cannot stand in a header',
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
    if (answer && action) wrong('action', 'stands beside "answer": one of them only');
    if (!answer && !action && delayMs === undefined)
      wrong('action', 'is missing: give an action, an answer, or delayMs');
    if (action === 'expire-cursor' && !['profiles', 'events', undefined].includes(endpoint))
      wrong('action', `expire-cursor needs a cursor, and "${endpoint}" takes none`);
    if (action === 'lie-counts' && !['upload', 'subscribe', undefined].includes(endpoint))
      wrong('action', `lie-counts needs counts, and "${endpoint}" answers none`);
  });

/** Throws the Refusal 400, which says where each fault of the rule is. */
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

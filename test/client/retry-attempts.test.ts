import { expect, it } from 'vitest';
import type { Attempt } from '../../src/client/failure.js';
import type { Client } from '../../src/client/client.js';
import { RetryStatus } from '../../src/client/retry.js';
import { withRetry, type RetryContext } from '../../src/client/retry.js';
import {
  answer,
  cut,
  html,
  redirect,
  reset,
  throttle,
  type Step,
} from '../support/servers/fault-server.js';
import { never, passcode, rig } from '../support/loopback-client.js';

const found = answer(200, { status: 'success', record: { identity: 'a' } });

function context(more: Partial<RetryContext> = {}) {
  const pauses: number[] = [];
  const lines: string[] = [];
  let clock = 0;
  const made: RetryContext = {
    policy: { maxAttempts: 3, retryForMs: 60_000, retryBaseMs: 100 },
    runtime: {
      monotonic: () => clock,
      random: () => 0.5,
      sleep: (ms) => {
        pauses.push(ms);
        clock += ms;
        return Promise.resolve();
      },
    },
    signal: never,
    waits: new RetryStatus('eu1.example.test', {
      monotonic: () => clock,
      log: (line) => lines.push(line),
    }),
    counts: { requests: 0, retries: 0 },
    what: 'GET /1/profile.json',
    ...more,
  };
  return { ...made, pauses, lines };
}

const get = (client: Client) => (signal: AbortSignal) => client.profile('identity', 'a', signal);
const steps = (...list: [Step, ...Step[]]) => list;

it('retries until a response arrives, and counts the attempts', async () => {
  const { client } = await rig(steps(reset(), answer(503), throttle('2'), found));
  const run = context({ policy: { maxAttempts: 3, retryForMs: 60_000, retryBaseMs: 100 } });
  expect((await withRetry(get(client), run))?.toString()).toBe('{"identity":"a"}');
  expect(run.counts).toEqual({ requests: 4, retries: 3 });
  expect(run.pauses).toEqual([50, 100, 2000]);
  expect(run.lines).toHaveLength(3);
  expect(run.lines[2]).toBe(
    'GET /1/profile.json (eu1.example.test): HTTP 429: Too many concurrent requests; retrying in 2000 ms',
  );
});

it.each<[string, Step, string, number]>([
  [
    'E-UNAVAILABLE',
    answer(503, { status: 'fail', error: 'An unknown error occurred', code: 503 }),
    'GET /1/profile.json: HTTP 503: An unknown error occurred (after 3 attempts)',
    3,
  ],
  [
    'E-UNAVAILABLE',
    answer(500, 'down', { 'X-Request-Id': 'req-7' }),
    'HTTP 500: down (after 3 attempts, request id req-7)',
    3,
  ],
  ['E-UNAVAILABLE', reset(), '(after 3 attempts)', 3],
  ['E-ANSWER', html(), 'Sign in to this network', 3],
  [
    'E-CREDENTIALS',
    answer(401, { status: 'fail', error: 'Passcode Invalid', code: 401 }),
    'Passcode Invalid',
    1,
  ],
  ['E-CREDENTIALS', answer(403, 'no'), 'HTTP 403: no', 1],
  ['E-ANSWER', answer(404, 'what?'), 'HTTP 404: what?', 1],
  ['E-ANSWER', redirect(302, 'https://elsewhere.example.test/x'), 'elsewhere.example.test', 1],
  [
    'E-ANSWER',
    answer(400, { status: 'fail', error: 'Malformed request', code: 400 }),
    'Malformed request',
    2,
  ],
])('stops at %s', async (id, step, words, requests) => {
  const { client, server } = await rig([step]);
  const run = context();
  const error: unknown = await withRetry(get(client), run).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ id, message: expect.stringContaining(words) });
  expect(server.received).toHaveLength(requests);
  expect(JSON.stringify([error, run.lines])).not.toContain(passcode);
});

it('reports the base URL to check if the connection is refused', async () => {
  const { client, server } = await rig([found]);
  await server[Symbol.asyncDispose]();
  await expect(withRetry(get(client), context())).rejects.toMatchObject({
    id: 'E-UNAVAILABLE',
    details: { fix: expect.stringContaining('check the base URL') as string },
  });
});

it('retries a throttling service for the whole time limit, and no longer', async () => {
  const { client, server } = await rig([throttle()]);
  const run = context();
  await expect(withRetry(get(client), run)).rejects.toMatchObject({ id: 'E-UNAVAILABLE' });
  expect(server.received.length).toBeGreaterThan(3);
  expect(run.pauses.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(60_000);
});

it('counts a failure thrown while a page is read as a failed attempt', async () => {
  const page = '{"status":"success","records":[]}';
  const { client } = await rig([cut(page, 9, 'length'), answer(200, page)]);
  const run = context();
  const text = await withRetry(async (signal): Promise<Attempt<string>> => {
    const attempt = await client.page('events', 'c', signal);
    if (!attempt.ok) return attempt;
    let body = '';
    await attempt.answer.read((chunk) => void (body += chunk.toString()));
    return { ok: true, answer: body };
  }, run);
  expect(text).toBe(page);
  expect(run.counts.retries).toBe(1);
});

it('stops waiting with the reason of an abort', async () => {
  const { client } = await rig([answer(503)]);
  const stop = new AbortController();
  const run = context({ signal: stop.signal });
  const sleep = () => {
    stop.abort(new Error('stopped'));
    return Promise.reject(stop.signal.reason as Error);
  };
  const attempt = withRetry(get(client), { ...run, runtime: { ...run.runtime, sleep } });
  await expect(attempt).rejects.toThrow('stopped');
});

it('does not catch defects', async () => {
  const run = context();
  await expect(withRetry(() => Promise.reject(new TypeError('defect')), run)).rejects.toThrow(
    TypeError,
  );
});

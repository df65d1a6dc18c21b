import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/client/failure.js';
import {
  retryDecision,
  type RetryPolicy,
  type Situation,
  type Idempotency,
} from '../../src/client/retry.js';

const policy: RetryPolicy = { maxAttempts: 8, retryForMs: 600_000, retryBaseMs: 500 };
const works: readonly Idempotency[] = ['read', 'idempotent', 'notIdempotent'];

const refused = (status: number, retryAfterMs?: number): Failure & { kind: 'refused' } => ({
  kind: 'refused',
  sent: true,
  status,
  message: `HTTP ${status}`,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const lost = (kind: 'connection' | 'timeout', sent: boolean): Failure => ({
  kind,
  sent,
  message: 'lost',
});
const unreadable: Failure = { kind: 'unreadable', sent: true, message: 'HTML' };

const situation = (failure: Failure, more: Partial<Situation> = {}): Situation => ({
  failure,
  attempt: 1,
  elapsedMs: 0,
  work: 'read',
  policy,
  random: () => 0.5,
  ...more,
});
const actions = (failure: Failure, more: Partial<Situation> = {}) =>
  works.map((work) => retryDecision(situation(failure, { ...more, work })).action);

describe('D the decision after a failure', () => {
  // What happened, and what follows for a read, a convergent write, a write that counts twice.
  it.each<[string, Failure, string[]]>([
    ['not connected', lost('connection', false), ['wait', 'wait', 'wait']],
    ['connect timeout', lost('timeout', false), ['wait', 'wait', 'wait']],
    ['reset after sending', lost('connection', true), ['wait', 'wait', 'unknown']],
    ['timeout after sending', lost('timeout', true), ['wait', 'wait', 'unknown']],
    ['unreadable 200', unreadable, ['wait', 'wait', 'unknown']],
    ['429', refused(429), ['wait', 'wait', 'wait']],
    ['408', refused(408), ['wait', 'wait', 'unknown']],
    ['500', refused(500), ['wait', 'wait', 'unknown']],
    ['502', refused(502), ['wait', 'wait', 'unknown']],
    ['503', refused(503), ['wait', 'wait', 'unknown']],
    ['504', refused(504), ['wait', 'wait', 'unknown']],
    ['400', refused(400), ['wait', 'wait', 'wait']],
    ['413', refused(413), ['stop', 'split', 'split']],
    ['401', refused(401), ['stop', 'stop', 'stop']],
    ['403', refused(403), ['stop', 'stop', 'stop']],
    ['404', refused(404), ['stop', 'stop', 'stop']],
    ['405', refused(405), ['stop', 'stop', 'stop']],
    ['409', refused(409), ['stop', 'stop', 'stop']],
    ['301', refused(301), ['stop', 'stop', 'stop']],
    ['307', refused(307), ['stop', 'stop', 'stop']],
    ['code 2, still in progress', refused(2), ['wait', 'wait', 'unknown']],
    ['code 3', refused(3), ['stop', 'stop', 'stop']],
    ['503 with code 429', { ...refused(429), mayBeProcessed: true }, ['wait', 'wait', 'unknown']],
    ['500 with code 400', { ...refused(400), mayBeProcessed: true }, ['wait', 'wait', 'unknown']],
    ['500 with code 401', { ...refused(401), mayBeProcessed: true }, ['stop', 'stop', 'unknown']],
    ['code 3', refused(3), ['stop', 'stop', 'stop']],
  ])('depends on the attempt and the kind of work for %s', (_, failure, expected) => {
    expect(actions(failure)).toEqual(expected);
  });

  it('splits a write and stops a read after a second 400', () => {
    expect(actions(refused(400), { attempt: 2 })).toEqual(['stop', 'split', 'split']);
  });

  it.each([
    ['attempts', { policy: { ...policy, maxAttempts: 1 } }],
    ['time', { elapsedMs: 600_000 }],
  ])('splits a write after its first 400 if no %s are left', (_, more) => {
    expect(actions(refused(400), more)).toEqual(['stop', 'split', 'split']);
  });
});

describe('D retrying ends', () => {
  it.each([
    lost('connection', true),
    lost('timeout', true),
    unreadable,
    refused(503),
    refused(408),
  ])('after the last attempt: %j', (failure) => {
    expect(actions(failure, { attempt: 7 })).toEqual(['wait', 'wait', 'unknown']);
    expect(actions(failure, { attempt: 8 })).toEqual(['giveUp', 'giveUp', 'unknown']);
  });

  it('for requests that were never sent, too, which are reported as not done', () => {
    const failure = lost('connection', false);
    expect(actions(failure, { attempt: 8 })).toEqual(['giveUp', 'giveUp', 'giveUp']);
  });

  it('for 429s only by time, because they are not counted', () => {
    expect(actions(refused(429), { attempt: 800 })).toEqual(['wait', 'wait', 'wait']);
    const late = { elapsedMs: 599_000, random: () => 0.99 };
    expect(actions(refused(429), late)).toEqual(['giveUp', 'giveUp', 'giveUp']);
  });

  it('when the next wait would exceed the time limit', () => {
    const failure = refused(503, 10_000);
    expect(retryDecision(situation(failure, { elapsedMs: 590_000 })).action).toBe('wait');
    expect(retryDecision(situation(failure, { elapsedMs: 590_001 })).action).toBe('giveUp');
  });
});

function wait(failure: Failure, more: Partial<Situation> = {}) {
  const decision = retryDecision(situation(failure, more));
  return decision.action === 'wait' ? decision.ms : decision.action;
}
const most = () => 0.999_999;

describe('D the back-off', () => {
  const patient = { ...policy, maxAttempts: 100 };

  it.each([
    [1, 500],
    [2, 1000],
    [3, 2000],
    [6, 16_000],
    [7, 30_000],
    [50, 30_000],
  ])('before attempt %i + 1 has a ceiling of %i ms', (attempt, ceiling) => {
    const more = { attempt, policy: patient, random: most };
    expect(wait(refused(503), more)).toBeCloseTo(ceiling, -2);
    expect(wait(refused(503), { ...more, random: () => 0 })).toBe(0);
  });

  it.each([
    [0, 500],
    [400, 500],
    [8000, 8000],
    [100_000, 30_000],
  ])('after a 429 at %i ms has a ceiling of %i ms', (elapsedMs, ceiling) => {
    expect(wait(refused(429), { elapsedMs, random: most })).toBeCloseTo(ceiling, -2);
  });

  it.each([429, 503, 500])('is the Retry-After of the service if it sends one: %i', (status) => {
    expect(wait(refused(status, 7000), { attempt: 5 })).toBe(7000);
    expect(wait(refused(status, 86_400_000))).toBe(30_000);
  });

  it('is computed if the service sends Retry-After: 0', () => {
    expect(wait(refused(503, 0))).toBe(250);
  });

  it('never exceeds 30 s or the remaining time', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...works),
        fc.constantFrom(lost('timeout', false), unreadable, refused(429), refused(500, 45_000)),
        fc.nat(2000),
        fc.nat(700_000),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (work, failure, attempt, elapsedMs, random) => {
          const more = { work, attempt: attempt + 1, elapsedMs, random: () => random };
          const decision = retryDecision(situation(failure, more));
          if (decision.action !== 'wait') return;
          expect(decision.ms).toBeGreaterThanOrEqual(0);
          expect(decision.ms).toBeLessThanOrEqual(30_000);
          expect(decision.ms + elapsedMs).toBeLessThanOrEqual(policy.retryForMs);
        },
      ),
    );
  });
});

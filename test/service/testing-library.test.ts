import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService, type TestServiceOptions } from '../../src/testing.js';
import { makeWorld } from '../support/test-environment.js';
import { until } from '../support/until.js';

// `engagectl/testing`, used as a team would: a program under test, here our own, against a service of the test.

const ann = { type: 'profile', identity: 'ann', profileData: { City: 'Oslo' } };

async function started(options: TestServiceOptions = {}) {
  const service = await startService(options);
  onTestFinished(() => service.close());
  const headers = {
    'X-Service-Account-Id': service.accountId,
    'X-Service-Passcode': service.passcode,
  };
  const cityOf = async (identity: string) => {
    const answer = await fetch(`${service.url}/1/profile.json?identity=${identity}`, { headers });
    const { record } = (await answer.json()) as { record?: { profileData: { City: string } } };
    return record?.profileData.City;
  };
  return { service, cityOf };
}

it('serves a program, shows the requests, and plays injected faults', async () => {
  const { service, cityOf } = await started({ seed: [ann] });
  const rule = await service.fault({
    endpoint: 'upload',
    match: 'bob',
    times: 2,
    answer: { status: 429, headers: { 'Retry-After': '0' } },
  });
  const world = makeWorld();
  writeFileSync(path.join(world.cwd, 'users.csv'), 'identity,City\nann,Rome\nbob,Bergen\n');
  const args = ['upload', 'users.csv', '--retry-base', '1ms'];
  expect(await world.run(args, { env: service.env })).toMatchObject({ code: 0 });
  expect(await cityOf('ann')).toBe('Rome');
  const uploads = service.requests({ endpoint: 'upload' });
  expect(uploads.map(({ status, fault }) => [status, fault])).toEqual([
    [429, rule.id],
    [429, rule.id],
    [200, null],
  ]);
  expect(uploads.at(-1)?.body).toMatchObject({ d: [{ identity: 'ann' }, { identity: 'bob' }] });
  expect(rule).toMatchObject({ seen: 3, played: 2 });
  await service.reset();
  expect([await cityOf('ann'), await cityOf('bob')]).toEqual(['Oslo', undefined]);
});

it('holds a request as long as the test wants, and can still be closed', async () => {
  const cities: unknown[] = [];
  let isOver = false;
  const { service, cityOf } = await started({
    seed: [ann],
    onRequest: async ({ endpoint, body }) => {
      if (endpoint !== 'upload') return;
      cities.push(await cityOf('ann'), JSON.stringify(body).includes('Rome'));
      if (isOver) await new Promise(() => undefined);
    },
  });
  const world = makeWorld({ env: service.env });
  writeFileSync(world.path('users.csv'), 'identity,City\nann,Rome\n');
  expect(await world.run(['upload', 'users.csv'])).toMatchObject({ code: 0 });
  expect([...cities, await cityOf('ann')]).toEqual(['Oslo', true, 'Rome']);
  isOver = true;
  const held = world.run(['upload', 'users.csv', '--max-attempts', '1']);
  await until(() => cities.length >= 4);
  await service.close();
  expect((await held).code).toBe(5);
});

it('answers with the error that the test throws', async () => {
  const { service } = await started({
    onRequest: () => expect(0).toBe(1),
  });
  const world = makeWorld({ env: service.env });
  const { stderr } = await world.run(['get-profile', 'ann', '--max-attempts', '1']);
  expect(stderr).toContain('onRequest: AssertionError: expected +0 to be 1');
});

it('restores snapshots', async () => {
  const { service, cityOf } = await started({ seed: [ann] });
  await service.snapshot('before');
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Account-Id': service.accountId,
    'X-Service-Passcode': service.passcode,
  };
  const d = [{ ...ann, profileData: { City: 'Rome' } }];
  await fetch(`${service.url}/1/upload`, { method: 'POST', headers, body: JSON.stringify({ d }) });
  expect(await cityOf('ann')).toBe('Rome');
  await service.restore('before');
  expect(await cityOf('ann')).toBe('Oslo');
  await expect(service.restore('after')).rejects.toThrow('snapshot after does not exist');
  await expect(service.snapshot('../x')).rejects.toThrow('name: ');
});

it('has a clock that can stop, move and run', async () => {
  const { service } = await started();
  service.clock.set('2026-01-31T12:00:00Z');
  service.clock.advance(60);
  expect(service.clock.now().toISOString()).toBe('2026-01-31T12:01:00.000Z');
  service.clock.set(1_700_000_000);
  expect(service.clock.now().getTime()).toBe(1_700_000_000_000);
  service.clock.set(new Date(1_700_000_000_123));
  expect(service.clock.now().getTime()).toBe(1_700_000_000_123);
  expect(() => service.clock.set(new Date(NaN))).toThrow('Invalid time');
  service.clock.release();
  const before = Date.now();
  const released = service.clock.now().getTime();
  expect(released).toBeGreaterThanOrEqual(before);
  expect(released).toBeLessThanOrEqual(Date.now());
  expect(() => service.clock.set('noon')).toThrow('now: "noon"');
});

describe('D an invalid setting is reported at once', () => {
  it('in a rule, with its place', async () => {
    const { service } = await started();
    await expect(service.fault({ times: 0, action: 'hang' })).rejects.toThrow('rule.times: ');
    await expect(service.fault({})).rejects.toThrow('rule.action: is missing');
  });

  it('in a seed, with its place', async () => {
    await expect(startService({ seed: [ann, { type: 'x' }] })).rejects.toThrow('seed:2: Type');
    const sum = (n: unknown) => ({ type: 'profile', identity: 'a', profileData: { n } });
    await expect(startService({ seed: [sum(1.7e308), sum({ $incr: 1.7e308 })] })).rejects.toThrow(
      'seed:2: Profile data is incorrect. A sum is too large.',
    );
    await expect(startService({ seed: ['/none.ndjson'] })).rejects.toThrow(
      '/none.ndjson:1: the file cannot',
    );
  });
});

it('runs fifty services independently', async () => {
  const services = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const profile = { type: 'profile', identity: 'u', profileData: { City: `city ${n}` } };
      const { cityOf } = await started({ seed: [profile] });

      return cityOf;
    }),
  );
  const cities = await Promise.all(services.map((cityOf) => cityOf('u')));
  expect(cities).toEqual(services.map((_, n) => `city ${n}`));
});

it('serves TLS, and leaves no files', async () => {
  const { service } = await started({ tls: true, memory: false });
  const caFile = service.caFile ?? '';
  expect(service.env).toMatchObject({
    NODE_EXTRA_CA_CERTS: caFile,
    ENGAGECTL_BASE_URL: service.url,
  });
  const status = await new Promise((resolve, reject) => {
    get(`${service.url}/_local/health`, { ca: readFileSync(caFile) }, (answer) =>
      resolve(answer.resume().statusCode),
    ).on('error', reject);
  });
  expect(status).toBe(200);
  expect(existsSync(path.join(path.dirname(caFile), 'service.db'))).toBe(true);
  await service.close();
  expect(existsSync(path.dirname(caFile))).toBe(false);
});

it('accepts several header prefixes', async () => {
  const { service } = await started({ headerPrefix: ['X-One', 'X-Two'] });
  const headers = { 'X-Two-Account-Id': service.accountId, 'X-Two-Passcode': service.passcode };
  const answer = await fetch(`${service.url}/1/profile.json?identity=a`, { headers });
  expect(answer.status).toBe(200);
  expect(service.env['ENGAGECTL_HEADER_PREFIX']).toBe('X-One');
  expect(JSON.stringify(service.requests())).not.toContain(service.passcode);
});

describe('options of startService', () => {
  it.each<[object, string]>([
    [{ typo: 1 }, 'typo: unknown member of options'],
    [{ variants: { keyStyle: 'x' } }, 'variants.keyStyle: '],
    [{ pendingPolls: -1 }, 'pendingPolls: '],
    [{ latencyMs: 'x' }, 'latencyMs: '],
    [{ seed: 'users.ndjson' }, 'seed: must be an array of records and paths of files'],
    [{ seed: [1] }, 'seed.0: must be a record or the path of a file'],
    [{ calls: { accountId: '', apiKey: 'k' } }, 'calls.accountId: '],
    [{ headerPrefix: 'a b' }, 'headerPrefix: '],
    [{ timezone: 'Mars' }, 'timezone: must be an IANA time zone'],
    [{ onRequest: 1 }, 'onRequest: must be a function'],
  ])('are rejected by name: %j', async (options, message) => {
    const starting = startService(options);
    await expect(starting).rejects.toThrow(`startService: ${message}`);
  });
});

it('names wrong arguments of other functions', async () => {
  const { service } = await started({ calls: { accountId: 'C', apiKey: 'k' } });
  expect(() => service.requests({ endpoint: 'uplaod' as never })).toThrow('"uplaod" is none of');
  expect(() => service.clock.advance('x' as never)).toThrow('advanceSeconds: "x" is not a number');
  expect(() => service.calls.pushOnly('no cuid')).toThrow('"no cuid" is not a cuid');
});

it('changes settings while it runs', async () => {
  const { service } = await started({ strict: true, failRate: 0, failSeed: 1 });
  expect(await service.settings({ strict: false, pendingPolls: 2 })).toMatchObject({
    strict: false,
    pendingPolls: 2,
  });
  await expect(service.settings({ latencyMs: -1 })).rejects.toThrow('latencyMs: ');
});

it('rejects a reset or snapshot of a service that a test has closed', async () => {
  const service = await startService({ seed: [ann] });
  const resetMeanwhile = service.reset();
  await service.close();
  // The reset may be done before the store closes. libsql would abort the process after that.
  await resetMeanwhile.catch((error: unknown) => expect(String(error)).toMatch(/closed|not open/));
  await expect(service.reset()).rejects.toThrow('the service is closed');
  await expect(service.snapshot('after')).rejects.toThrow(/closed|not open/);
});

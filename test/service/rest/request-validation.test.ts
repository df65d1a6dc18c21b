import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.js';
import { startService } from '../../../src/service/start.js';
import { headers, profileRecord, replyOf, run } from '../running.js';
import { serviceDefaults } from '../../support/service-defaults.js';

describe('D invalid requests', () => {
  it.each([
    ['Passcode Invalid', { 'X-Service-Passcode': 'other' }],
    ['Passcode Invalid', { 'X-Service-Passcode': '' }],
    ['Account ID is not valid', { 'X-Service-Account-Id': 'other' }],
    ['Invalid Credentials', { 'X-Service-Account-Id': 'other', 'X-Service-Passcode': 'other' }],
  ])('answers 401 "%s" to wrong credentials', async (error, wrong) => {
    const service = await run();
    const answer = await fetch(`${service.url}/1/profile.json?identity=a`, {
      headers: { ...headers, ...wrong },
    });
    expect(await replyOf(answer)).toMatchObject({ http: 401, status: 'fail', error, code: 401 });
  });

  it('accepts the headers under another prefix', async () => {
    const service = await run({ headerPrefixes: ['X-Acme'] });
    const acme = {
      'X-Acme-Account-Id': headers['X-Service-Account-Id'],
      'X-Acme-Passcode': headers['X-Service-Passcode'],
    };
    const path = `${service.url}/1/profile.json?identity=a`;
    expect((await fetch(path, { headers: acme })).status).toBe(200);
    expect((await fetch(path, { headers })).status).toBe(401);
  });

  it.each([
    ['POST', '/1/uploads', 501],
    ['GET', '/2/profile.json', 404],
    ['GET', '/page', 404],
    ['GET', '/1/upload', 405],
    ['DELETE', '/1/profile.json', 405],
    ['GET', '/1/demerge/profiles.json', 405],
  ])('answers %s %s with %i', async (method, path, http) => {
    const service = await run();
    expect(await service.call(method, path)).toMatchObject({ http, status: 'fail', code: http });
  });

  it.each(['{"d":[', '', '{"d":[]}x', "{'d':[]}", '\u0000'])(
    'answers 400 for the body %j',
    async (body) => {
      const service = await run();
      const answer = await service.call('POST', '/1/upload', body);
      expect(answer).toMatchObject({ http: 400, error: 'Malformed request', code: 400 });
    },
  );

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1'])(
    'answers 400 for content of type %s',
    async (type) => {
      const service = await run();
      const init = {
        method: 'POST',
        headers: { ...headers, 'Content-Type': type },
        body: '{"d":[]}',
      };
      expect(await replyOf(await fetch(`${service.url}/1/upload`, init))).toMatchObject({
        http: 400,
        code: 400,
      });
    },
  );

  it('answers 400 for text that is not UTF-8', async () => {
    const service = await run();
    const body = Buffer.from('{"d":["\xff"]}', 'latin1');
    const answer = await fetch(`${service.url}/1/upload`, { method: 'POST', headers, body });
    expect(answer.status).toBe(400);
  });

  it('accepts application/json with a charset', async () => {
    const service = await run();
    const typed = { ...headers, 'Content-Type': 'application/json; charset=utf-8' };
    const answer = await fetch(`${service.url}/1/upload`, {
      method: 'POST',
      headers: typed,
      body: '{"d":[]}',
    });
    expect(await replyOf(answer)).toMatchObject({ http: 200, processed: 0 });
  });

  it('answers 413 beyond 10 MiB, and the connection stays usable', async () => {
    const service = await run();
    const body = `{"d":[${' '.repeat(limits.requestBytes)}]}`;
    expect(await service.call('POST', '/1/upload', body)).toMatchObject({
      http: 413,
      status: 'fail',
      code: 413,
    });
    expect(await service.upload(profileRecord('a'))).toMatchObject({ http: 200 });
  });

  it.each([
    ['127.0.0.1', 200],
    ['localhost:8787', 200],
    ['attacker.test', 403],
    ['127.0.0.1.attacker.test', 403],
  ])('answers a request to the host %s with %i', async (host, status) => {
    const service = await run();
    const answer = await request(`${service.url}/1/profile.json?identity=a`, {
      headers: { ...headers, host },
    });
    expect(answer.statusCode).toBe(status);
    // Who called it by a name of their own is told how it takes that.
    expect((await answer.body.text()).includes('--allow-host')).toBe(status === 403);
  });
});

describe('D failure injection', () => {
  it('answers 429 beyond the requests in flight of each endpoint, and processes none of them', async () => {
    const service = await run({ latencyMs: 1500, maxConcurrent: { upload: 4, other: 2 } });
    const uploads = Array.from({ length: 7 }, (_, n) => service.upload(profileRecord(`u${n}`)));
    const reads = Array.from({ length: 3 }, () =>
      service.call('GET', '/1/profile.json?identity=u0'),
    );
    const uploaded = await Promise.all(uploads);
    const refused = uploaded.filter(({ http }) => http === 429);
    expect(refused).toHaveLength(3);
    expect(refused[0]).toMatchObject({
      status: 'fail',
      error: 'Too many concurrent requests',
      code: 429,
    });
    expect((await Promise.all(reads)).filter(({ http }) => http === 429)).toHaveLength(1);
    await service.call('PUT', '/_local/settings', { latencyMs: 0 });
    for (const [n, { http }] of uploaded.entries()) {
      expect((await service.profile('identity', `u${n}`)) === undefined).toBe(http === 429);
    }
  });

  it('answers 500 and 503 to a share of requests, some of them after processing', async () => {
    const draws = [0, 0.2, 0.2, 0, 0.2, 0.8, 0, 0.8, 0.2, 0.9];
    const service = await run({ failRate: 0.5, random: () => draws.shift() ?? 0.9 });
    const answers = [
      await service.upload(profileRecord('a')),
      await service.upload(profileRecord('b')),
      await service.upload(profileRecord('c')),
      await service.upload(profileRecord('d')),
    ];
    expect(answers.map(({ http }) => http)).toEqual([500, 503, 500, 200]);
    expect(answers[0]).toMatchObject({
      status: 'fail',
      error: 'An unknown error occurred',
      code: 500,
    });
    const found: boolean[] = [];
    for (const id of ['a', 'b', 'c', 'd'])
      found.push((await service.profile('identity', id)) !== undefined);
    expect(found).toEqual([true, true, false, true]);
  });

  it('closes at once while responses wait, and can be closed twice', async () => {
    const service = await run({ latencyMs: 60_000 });
    const upload = service.upload(profileRecord('a')).catch(() => 'cut');
    await service.arrived(1);
    await Promise.all([service.close(), service.close()]);
    expect(await upload).toBe('cut');
  });
});

it('refuses an unknown time zone and a port in use', async () => {
  const service = await run();
  const options = {
    ...serviceDefaults,
    port: Number(new URL(service.url).port),
    accountId: 'A',
    passcode: 'p',
  };
  await expect(startService(options)).rejects.toThrow('EADDRINUSE');
  await expect(startService({ ...options, port: 0, timezone: 'Mars/North' })).rejects.toThrow(
    RangeError,
  );
});

import { describe, expect, it } from 'vitest';
import type { ServiceOptions } from '../../../src/service/start.js';
import { eventRecord, headers, profileRecord, replyOf, run } from '../running.js';

interface FaultAnswer {
  readonly faults?: unknown[];
  readonly error?: string;
}

async function faulty(options: Partial<ServiceOptions> = {}) {
  const service = await run(options);
  const faults = (method: string, body?: unknown, rest = '') =>
    fetch(`${service.url}/_local/faults${rest}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).then((answer) => answer.json() as Promise<FaultAnswer>);
  const isStored = async (identity: string) =>
    (await service.profile('identity', identity)) !== undefined;
  return { service, faults, isStored };
}

it('answers 429 with Retry-After twice to the third upload with an identity, then as usual', async () => {
  const { service, faults } = await faulty();
  const answer = { status: 429, headers: { 'Retry-After': '7' } };
  await faults('POST', { endpoint: 'upload', match: 'ann', after: 2, times: 2, answer });
  const statuses: string[] = [];
  for (let n = 0; n < 6; n++) {
    await service.upload(profileRecord('bob'));
    const body = JSON.stringify({ d: [profileRecord('bob'), profileRecord('ann', { n })] });
    const got = await fetch(`${service.url}/1/upload`, { method: 'POST', headers, body });
    statuses.push(`${got.status} ${got.headers.get('Retry-After')}`);
    if (got.status === 429)
      expect(await replyOf(got)).toMatchObject({
        status: 'fail',
        error: 'Too many concurrent requests',
        code: 429,
      });
  }
  expect(statuses).toEqual(['200 null', '200 null', '429 7', '429 7', '200 null', '200 null']);
  expect((await faults('GET')).faults).toMatchObject([{ id: 1, seen: 6, played: 2 }]);
});

it('matches an identity with any escapes and in the query, but not as part of a text', async () => {
  const { service, faults } = await faulty();
  await faults('POST', { match: 'é/1', answer: { status: 500 } });
  const escaped = '{"d":[{"type":"profile","identity":"\\u00e9\\/1","profileData":{}}]}';
  expect(await service.call('POST', '/1/upload', escaped)).toMatchObject({ http: 500 });
  expect(await service.call('GET', '/1/profile.json?identity=%C3%A9%2F1')).toMatchObject({
    http: 500,
  });
  expect(await service.upload(profileRecord('é/12'))).toMatchObject({ http: 200 });
  await faults('POST', { match: 'u5"', answer: { status: 500 } });
  expect(await service.upload(profileRecord('u5"'))).toMatchObject({ http: 500 });
  expect(await service.upload(profileRecord('u5'))).toMatchObject({ http: 200 });
});

it('delays the usual answer with a delay alone', async () => {
  const { service, faults, isStored } = await faulty();
  await faults('POST', { endpoint: 'upload', delayMs: 80 });
  const started = performance.now();
  expect(await service.upload(profileRecord('a'))).toMatchObject({ http: 200, processed: 1 });
  expect(performance.now() - started).toBeGreaterThan(75);
  expect(await isStored('a')).toBe(true);
});

it('an answer has the status, headers and body it is given', async () => {
  const { service, faults, isStored } = await faulty();
  await faults('POST', { times: 1, answer: { headers: { 'X-A': 'b' }, body: '<h1>' } });
  await faults('POST', { times: 1, answer: { status: 201, body: { d: [1] } } });
  const [first, second] = [
    await service.call('GET', '/1/profile.json?identity=a').catch(String),
    await service.upload(profileRecord('a')),
  ];
  expect(first).toContain('SyntaxError');
  expect(second).toMatchObject({ http: 201, text: '{"d":[1]}' });
  expect(await isStored('a')).toBe(false);
});

describe('actions', () => {
  const upload = (url: string) =>
    fetch(`${url}/1/upload`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ d: [profileRecord('a')] }),
    });

  it.each([
    ['reset-before', false],
    ['reset-after', true],
  ])('%s breaks the connection; the request is processed: %s', async (action, stored) => {
    const { service, faults, isStored } = await faulty();
    await faults('POST', { endpoint: 'upload', action, times: 1 });
    await expect(upload(service.url)).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
    expect(await isStored('a')).toBe(stored);
    const seen = await fetch(`${service.url}/_local/requests?endpoint=upload`, { headers });
    expect(await seen.json()).toMatchObject({ requests: [{ status: null, fault: 1 }] });
  });

  it('cut ends the answer in the middle', async () => {
    const { service, faults, isStored } = await faulty();
    await faults('POST', { endpoint: 'upload', action: 'cut' });
    const answer = await upload(service.url);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow('terminated');
    expect(await isStored('a')).toBe(true);
  });

  it('drip sends the answer in small pieces', async () => {
    const { service, faults } = await faulty();
    await faults('POST', { endpoint: 'upload', action: 'drip', delayMs: 1 });
    const answer = await upload(service.url);
    const chunks: number[] = [];
    for await (const chunk of answer.body!) chunks.push(chunk.length);
    expect(chunks.length).toBeGreaterThan(10);
  });

  it('html and empty answer with a page and with nothing', async () => {
    const { service, faults, isStored } = await faulty();
    await faults('POST', { endpoint: 'upload', action: 'html', times: 1 });
    await faults('POST', { endpoint: 'upload', action: 'empty', times: 1 });
    const html = await upload(service.url);
    expect([html.status, html.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(await html.text()).toContain('<title>');
    const empty = await upload(service.url);
    expect([empty.status, await empty.text()]).toEqual([200, '']);
    expect(await isStored('a')).toBe(false);
  });

  it('hang waits until the client disconnects or the service closes', async () => {
    const { service, faults } = await faulty();
    await faults('POST', { endpoint: 'upload', action: 'hang' });
    const client = new AbortController();
    const init = { method: 'POST', headers, body: '{"d":[]}', signal: client.signal };
    const given = fetch(`${service.url}/1/upload`, init).catch(() => 'given up');
    await service.arrived(1);
    client.abort();
    expect(await given).toBe('given up');
    const open = upload(service.url).catch(() => 'cut');
    await service.arrived(2);
    await service.close();
    expect(await open).toBe('cut');
  });

  it.each([
    ['code', { code: 3, error: 'Incorrect Usage' }],
    ['text', { error: 'invalid cursor' }],
  ] as const)('expire-cursor applies to %s', async (expiredCursor, expected) => {
    const { service, faults } = await faulty({ variants: { expiredCursor } });
    await service.upload(eventRecord('a', 'Buy', 1_700_000_000));
    await faults('POST', { action: 'expire-cursor', times: 1 });
    const cursor = await service.open('events', 'Buy', 20231114, 20231115);
    expect(await service.page('events', cursor)).toMatchObject({
      http: 200,
      status: 'fail',
      ...expected,
    });
    expect((await service.page('events', cursor)).records).toHaveLength(1);
  });

  it('lie-counts answers with counts that do not add up', async () => {
    const { service, faults } = await faulty();
    await faults('POST', { action: 'lie-counts' });
    expect(await service.upload(profileRecord('a'))).toMatchObject({
      processed: 2,
      unprocessed: [],
    });
  });
});

it('applies rules in order, each as often as configured, and deletes one or all', async () => {
  const { service, faults } = await faulty();
  for (const status of [500, 503, 404])
    await faults('POST', { endpoint: 'upload', times: 1, answer: { status } });
  await faults('DELETE', undefined, '/2');
  const got = [];
  for (let n = 0; n < 3; n++) got.push((await service.upload()).http);
  expect(got).toEqual([500, 404, 200]);
  expect(await faults('DELETE', undefined, '/2')).toMatchObject({ status: 'fail', code: 404 });
  await faults('DELETE');
  expect(await faults('GET')).toEqual({ faults: [] });
});

it.each([
  [{}, 'rule.action: is missing'],
  [undefined, 'rule: '],
  [[], 'rule: '],
  [{ endpoint: 'uploads', action: 'hang' }, 'rule.endpoint: '],
  [{ action: 'explode' }, 'rule.action: '],
  [{ action: 'hang', answer: {} }, 'rule.action: cannot be combined'],
  [{ action: 'hang', colour: 1 }, 'colour'],
  [{ action: 'hang', after: -1 }, 'rule.after: '],
  [{ action: 'hang', times: 0 }, 'rule.times: '],
  [{ action: 'hang', match: 7 }, 'rule.match: '],
  [{ action: 'hang', delayMs: 1e9 }, 'rule.delayMs: '],
  [{ answer: { status: 99 } }, 'rule.answer.status: '],
  [{ answer: { headers: { 'X Y': 'a' } } }, 'rule.answer.headers'],
  [{ answer: { headers: { X: 'a\r\nb' } } }, 'rule.answer.headers.X: '],
  [{ endpoint: 'upload', action: 'expire-cursor' }, 'rule.action: expire-cursor'],
  [{ endpoint: 'demerge', action: 'lie-counts' }, 'rule.action: lie-counts'],
])('refuses the rule %j, and names the place', async (rule, where) => {
  const { faults } = await faulty();
  const answer = await faults('POST', rule);
  expect(answer).toMatchObject({ status: 'fail', code: 400 });
  expect(answer.error).toContain(where);
  expect((await faults('GET')).faults).toEqual([]);
});

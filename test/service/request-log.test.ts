import { describe, expect, it } from 'vitest';
import { eventRecord, headers, profileRecord, run, type Running } from './running.js';
import type { LoggedRequest } from '../../src/service/control/request-log.js';

// The request log explains each answer. What is sent to the client stays as deployments send it.

async function logged(service: Running): Promise<LoggedRequest> {
  const { text } = await service.call('GET', '/_local/requests');
  return (JSON.parse(text) as { requests: LoggedRequest[] }).requests.at(-1)!;
}

const send = (service: Running, path: string, init: RequestInit) =>
  fetch(service.url + path, { method: 'POST', headers, ...init });

describe('the reason of a rejected request', () => {
  it.each<[string, string, unknown, string]>([
    ['POST', '/1/upload', '{"d":[1,}', 'the body is not JSON: syntax error at byte 8'],
    ['POST', '/1/upload', '\ufeff{"d":[]}', 'the body is not JSON: syntax error at byte 0'],
    ['POST', '/1/upload', ' {"ø":[tru]}', 'the body is not JSON: syntax error at byte 8'],
    ['POST', '/1/upload', '{"d":"x', 'the body is not JSON: syntax error at byte 5'],
    ['POST', '/1/upload', [], 'the body is not an object'],
    ['POST', '/1/upload', undefined, 'the body is missing'],
    ['POST', '/1/upload', {}, 'd is missing'],
    ['POST', '/1/upload', { d: {} }, 'd is not an array'],
    ['POST', '/1/upload', { d: Array(1001).fill(1) }, '1001 records, at most 1000'],
    [
      'POST',
      '/1/demerge/profiles.json',
      { identities: [1] },
      'identity number 1 is not a valid string',
    ],
    [
      'POST',
      '/1/demerge/profiles.json',
      { identities: Array(101).fill('a') },
      '101 identities, at most 100',
    ],
    [
      'POST',
      '/1/events.json',
      { event_name: 'A', from: '20230101', to: 20230102 },
      'from is not a number',
    ],
    [
      'POST',
      '/1/events.json',
      { event_name: 'A', from: 20230101, to: 20230230 },
      'to is not a day, YYYYMMDD',
    ],
    [
      'POST',
      '/1/events.json',
      { event_name: 'A', from: 20230103, to: 20230102 },
      'from 20230103 is after to 20230102',
    ],
    [
      'POST',
      '/1/events.json?batch_size=x',
      { event_name: 'App Launched', from: 20230103, to: 20230104 },
      'batch_size is not a whole number from 0 to 5000',
    ],
    ['GET', '/1/profile.json', undefined, 'one of email, identity and objectId is required'],
    [
      'GET',
      '/1/profile.json?email=a&identity=b',
      undefined,
      'only one of email and identity is allowed',
    ],
  ])('is logged for %s %s %j', async (method, path, body, reason) => {
    const service = await run();
    const { http, error } = await service.call(method, path, body);
    expect([http, error]).toEqual([400, 'Malformed request']);
    expect(await logged(service)).toMatchObject({ status: 400, result: 'fail', reason });
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'Content-Type is text/plain;charset=UTF-8: send application/json'],
    [{ 'Content-Type': 'text/csv' }, 'Content-Type is text/csv: send application/json'],
  ])('is logged for the content type %j', async (type, reason) => {
    const service = await run();
    const { 'Content-Type': _, ...credentials } = headers;
    await send(service, '/1/upload', { body: '{"d":[]}', headers: { ...credentials, ...type } });
    expect(await logged(service)).toMatchObject({ status: 400, reason });
  });

  it('suggests the header prefix that the client uses, and contains no credentials', async () => {
    const service = await run();
    await fetch(`${service.url}/1/profile.json?identity=a`, {
      headers: { 'X-Acme-Account-Id': 'TEST-ACCOUNT', 'X-Acme-Passcode': 'a-secret' },
    });
    const seen = await logged(service);
    expect(seen).toMatchObject({
      status: 401,
      reason:
        'no header X-Service-Account-Id; no header X-Service-Passcode; headers X-Acme-… seen: start with --header-prefix X-Acme',
      headers: { 'x-acme-passcode': '***' },
    });
    expect(JSON.stringify(seen)).not.toContain('a-secret');
  });

  it('is logged for unknown paths, methods and parameters', async () => {
    const service = await run();
    const reasonOf = async (method: string, path: string) => {
      const { http } = await service.call(method, path);
      return [http, (await logged(service)).reason];
    };
    expect(await reasonOf('GET', '/upload')).toEqual([
      404,
      'unknown path: paths of the API begin with /1/',
    ]);
    expect(await reasonOf('GET', '/1/users')).toEqual([
      501,
      expect.stringContaining('unknown path: the API has /1/upload,'),
    ]);
    expect(await reasonOf('GET', '/1/upload')).toEqual([405, 'GET /1/upload: use POST']);
    expect(await reasonOf('GET', '/1/profile.json?id=1')).toEqual([
      501,
      'unknown parameter "id": profile has email, identity, objectId',
    ]);
  });

  it('distinguishes cursors that are pending, encoded twice, expired or of another endpoint', async () => {
    const service = await run({ pendingPolls: 1 });
    await service.upload(eventRecord('a', 'Chat', 1_700_000_000));
    const cursor = await service.open('events', 'Chat', 20231101, 20231130);
    const reasonOf = async (kind: 'events' | 'profiles', text: string) => {
      await service.page(kind, text);
      return (await logged(service)).reason;
    };
    expect(await reasonOf('events', cursor)).toBe('1 more polls until it is ready');
    expect(await reasonOf('events', encodeURIComponent(cursor))).toBe(
      'the cursor is percent-encoded twice: use it verbatim',
    );
    expect(await reasonOf('events', 'x')).toBe('the cursor is corrupt, or of another store');
    expect(await reasonOf('profiles', cursor)).toBe('this is a cursor of events');
    await service.call('PUT', '/_local/clock', { advanceSeconds: 3601 });
    expect(await reasonOf('events', cursor)).toContain('the cursor expired at ');
  });
});

it('logs the answer, and distinguishes partial from success', async () => {
  const service = await run();
  await service.upload(profileRecord('a'), profileRecord('b', { Email: 'x' }));
  expect(await logged(service)).toMatchObject({
    status: 200,
    result: 'partial',
    reason: '1 of 2 records rejected: 515 Profile data is incorrect. Email is not valid.',
    answer: { status: 'partial', processed: 1, unprocessed: [{ code: 515 }] },
  });
  await service.upload(profileRecord('a'));
  expect(await logged(service)).toMatchObject({ result: 'success', reason: null });
});

it('masks the passcode in bodies and URLs', async () => {
  const service = await run();
  const { passcode } = { passcode: headers['X-Service-Passcode'] };
  await service.upload(profileRecord('a', { note: passcode, 'Acme-Passcode': 'other "secret' }));
  await service.call('GET', '/1/profile.json?identity=a&passcode=hidden');
  const { text } = await service.call('GET', '/_local/requests');
  for (const secret of [passcode, 'secret', 'hidden']) expect(text).not.toContain(secret);
});

it('masks passcodes in any spelling', async () => {
  const service = await run({ passcode: 'p "1"/ß?', accountId: headers['X-Service-Account-Id'] });
  const credentials = { ...headers, 'X-Service-Passcode': 'p "1"/ß?' };
  const ask = (path: string, body: string) =>
    fetch(service.url + path, { method: 'POST', headers: credentials, body });
  await ask('/1/upload', String.raw`{"d":[],"acme-pass\u0063ode":"hidden-1","Pa\u0073sword":4711}`);
  await ask('/1/upload', '{"d":[],"passcodes":["hidden-2", "hidden-3"],"note":"p \\"1\\"/ß?"}');
  await ask('/1/upload', 'passcode=hidden-4&other=1');
  await ask('/1/upload?my%50asscode=hidden-5&q=p%20%221%22%2F%C3%9F%3F', '{}');
  const answer = await fetch(`${service.url}/_local/requests`, { headers: credentials });
  const { requests } = (await answer.json()) as { requests: { url: string; body: unknown }[] };
  expect(requests.map(({ url, body }) => [url, body])).toEqual([
    ['/1/upload', { d: [], 'acme-passcode': '***', Password: '***' }],
    ['/1/upload', { d: [], passcodes: '***', note: '***' }],
    ['/1/upload', 'passcode=***&other=1'],
    ['/1/upload?my%50asscode=***&q=***', {}],
  ]);
});

it('reads the result of a response, not of its records, wherever `status` stands', async () => {
  for (const status of ['first', 'last'] as const) {
    const service = await run({ variants: { status } });
    const results = async () => {
      const { text } = await service.call('GET', '/_local/requests');
      const { requests } = JSON.parse(text) as { requests: { result: string }[] };
      return requests.map(({ result }) => result);
    };
    const broken = { type: 'event', evtName: 'Buy', evtData: { status: 'fail' } };
    const note = 'x'.repeat(500);
    const events = Array.from({ length: 300 }, (_, n) =>
      eventRecord('a', 'Buy', 1_700_000_000, { status: 'partial', note, n }),
    );
    await service.upload(profileRecord('a'), broken);
    await service.upload(...events);
    const cursor = await service.open('events', 'Buy', 20231101, 20231130);
    expect((await service.page('events', cursor)).text.length).toBeGreaterThan(64 * 1024);
    await service.call('POST', '/_local/faults', {
      answer: { body: { error: 'x', status: 'fail', code: 3 } },
    });
    await service.upload(profileRecord('a'));
    expect(await results()).toEqual(['partial', 'success', 'success', 'success', 'fail']);
  }
});

it('masks in time that grows with the text, whatever the text is', async () => {
  const service = await run();
  const marks = '?'.repeat(5000);
  await service.call(
    'GET',
    `/1/upload?${marks}${'passcode'.repeat(400)}${marks}&my_password=hidden`,
  );
  const note = 'Forgot password?&'.repeat(20_000);
  await service.upload(profileRecord('a', { note, password: 'hidden' }));
  // Quotes in strings, of a member and of a list; the answer repeats them and is cut off.
  const quotes = ['"'.repeat(100_000), '":['.repeat(100_000)];
  await service.upload(profileRecord('a', { password: 'hidden', note: quotes[0], list: quotes }));
  await service.call(
    'POST',
    '/1/upload',
    `{"password":"hidden","note":"${'\\"'.repeat(4_000_000)}`,
  );
  const { text } = await service.call('GET', '/_local/requests');
  expect(text).not.toContain('hidden');
});

it('masks a passcode that is cut off with the rest of the answer', async () => {
  const service = await run();
  const rejected = { Email: 'x', note: 'x'.repeat(65_000), passcode: `hidden${'-'.repeat(500)}` };
  await service.upload(profileRecord('a', rejected));
  const { requests } = JSON.parse((await service.call('GET', '/_local/requests')).text) as {
    requests: { answer: string }[];
  };
  expect(requests[0]!.answer.slice(-40)).toMatch(/,"passcode":"\*\*\*"$/);
});

describe('deviations from the specification', () => {
  const deviations: [string, string, unknown, string][] = [
    [
      'POST',
      '/1/upload',
      { d: [profileRecord('a', { 'MSG-email': 'false' })] },
      'MSG-email is neither true nor false',
    ],
    [
      'POST',
      '/1/upload',
      { d: [profileRecord('a', { 'MSG-dndEmail': true })] },
      'MSG-dndEmail cannot be set by an upload',
    ],
    [
      'POST',
      '/1/upload',
      { d: [profileRecord('a', { 'MSG-SMS': 'false' })] },
      'MSG-SMS is neither true nor false',
    ],
    [
      'POST',
      '/1/upload',
      { d: [profileRecord('a', { 'msg-dndphone': true })] },
      'msg-dndphone cannot be set by an upload',
    ],
    [
      'POST',
      '/1/upload',
      { d: [{ ...profileRecord('a'), city: 'Oslo' }] },
      'unknown member "city" of a record',
    ],
    ['POST', '/1/upload', { d: [], dryRun: true }, 'unknown member "dryRun" of the body'],
    [
      'POST',
      '/1/subscribe',
      { d: [{ type: 'email', value: 'a@b.test', status: 'Unsubscribe', x: 1 }] },
      'unknown member "x" of a record',
    ],
    [
      'POST',
      '/1/demerge/profiles.json',
      { identities: [], x: 1 },
      'unknown member "x" of the body',
    ],
    [
      'POST',
      '/1/profiles.json?batch_size=1000',
      { event_name: 'App Launched', from: 20230101, to: 20230102 },
      'batch_size 1000 is not a multiple of 23',
    ],
  ];

  it.each(deviations)('cause a warning: %s %s %j', async (method, path, body, warning) => {
    const service = await run();
    expect(await service.call(method, path, body)).toMatchObject({ http: 200, status: 'success' });
    expect(await logged(service)).toMatchObject({ warnings: [warning], reason: null });
  });

  it.each(deviations)(
    'are rejected by strict mode: %s %s %j',
    async (method, path, body, cause) => {
      const service = await run({ strict: true });
      const { status } = await service.call(method, path, body);
      expect(status).toBe('fail');
      expect((await logged(service)).reason).toContain(cause);
    },
  );

  it('include a page of events without Content-Type', async () => {
    const service = await run();
    const cursor = await service.open('events', 'App Launched', 20231101, 20231130);
    const { 'Content-Type': _, ...credentials } = headers;
    const page = () =>
      fetch(`${service.url}/1/events.json?cursor=${cursor}`, { headers: credentials });
    expect((await page()).status).toBe(200);
    expect((await logged(service)).warnings).toEqual([
      'Content-Type is missing, which endpoint 7 requires',
    ]);
    await service.call('PUT', '/_local/settings', { strict: true });
    expect((await page()).status).toBe(400);
  });
});

describe('settings', () => {
  it('can change while the service runs, and a reset restores those of the start', async () => {
    const service = await run({ pendingPolls: 1 });
    const put = (changes: object) => service.call('PUT', '/_local/settings', changes);
    expect(
      JSON.parse((await put({ pendingPolls: 0, variants: { status: 'last' } })).text),
    ).toMatchObject({
      latencyMs: 0,
      pendingPolls: 0,
      failRate: 0,
      strict: false,
      maxConcurrent: { upload: 15, other: 3 },
      variants: { status: 'last', echo: 'recorded' },
    });
    const cursor = await service.open('events', 'App Launched', 20231101, 20231130);
    expect((await service.page('events', cursor)).text).toBe('{"status":"success"}');
    await put({ variants: { whitespace: 'spaced', flags: 'specification' }, failRate: 0 });
    await service.upload(profileRecord('a', { Phone: '+4712345678' }));
    expect((await service.profile('identity', 'a'))?.profileData).toEqual({
      'MSG-sms': true,
      'MSG-Whatsapp': true,
      'MSG-dndPhone': false,
      'MSG-dndWhatsapp': false,
    });
    await service.call('POST', '/_local/reset');
    const { text } = await service.call('GET', '/_local/settings');
    expect(JSON.parse(text)).toMatchObject({ pendingPolls: 1, variants: { status: 'first' } });
  });

  it('fail the same requests for the same seed', async () => {
    const service = await run();
    const outcomes = async () => {
      await service.call('PUT', '/_local/settings', { failRate: 0.5, failSeed: 42 });
      const statuses = [];
      for (let n = 0; n < 20; n++)
        statuses.push((await service.call('GET', '/1/profile.json?identity=a')).http);
      return statuses;
    };
    const first = await outcomes();
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(await outcomes()).toEqual(first);
  });

  it.each<[object, string]>([
    [{ typo: 1 }, 'typo: unknown member of settings'],
    [{ latencyMs: 'x' }, 'latencyMs: '],
    [{ failRate: 2 }, 'failRate: '],
    [{ variants: { keyStyle: 'x' } }, 'variants.keyStyle: '],
    [{ maxConcurrent: { upload: 0 } }, 'maxConcurrent.upload: '],
  ])('that are invalid are rejected by name: %j', async (changes, message) => {
    const service = await run();
    const { http, error } = await service.call('PUT', '/_local/settings', changes);
    expect([http, error]).toEqual([400, expect.stringContaining(message)]);
  });
});

it('reports a cursor as pending by a fault rule', async () => {
  const service = await run();
  await service.call('POST', '/_local/faults', { action: 'pending', times: 1 });
  const cursor = await service.open('events', 'App Launched', 20231101, 20231130);
  expect(await service.page('events', cursor)).toMatchObject({ status: 'fail', code: 2 });
  expect((await logged(service)).reason).toBe('fault rule 1: pending');
  expect(await service.page('events', cursor)).toMatchObject({ status: 'success' });
});

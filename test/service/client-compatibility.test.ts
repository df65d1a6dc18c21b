import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventRecord, headers, profileRecord, replyOf, run } from './running.js';

// What programs of others, written against the real interface, have found wrong in the service.

const day = 1_700_000_000;
const keys = (count: number, from = 0): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n + from}`, n]));

describe('dryRun=1 of an upload', () => {
  it('answers like an upload, and stores nothing, not even merged users', async () => {
    const service = await run();
    await service.upload(profileRecord('a', { n: 1 }), { ...profileRecord('b'), objectId: 'dev' });
    const d = [
      profileRecord('a', { n: 2 }),
      profileRecord('new'),
      { ...profileRecord('a'), objectId: 'dev' },
      eventRecord('a', 'Buy', day),
      profileRecord('c', { Email: 'no' }),
    ];
    const dry = await service.call('POST', '/1/upload?dryRun=1', { d });
    expect(dry).toMatchObject({ status: 'partial', processed: 4, unprocessed: [{ code: 515 }] });
    expect(await service.profile('identity', 'new')).toBeUndefined();
    expect(await service.profile('identity', 'a')).toMatchObject({
      all_identities: ['a'],
      profileData: { n: 1 },
      events: {},
    });
    expect((await service.call('POST', '/1/upload', { d })).text).toBe(dry.text);
  });

  it('considers what the earlier records would have stored', async () => {
    const service = await run();
    const d = [profileRecord('a', keys(200)), profileRecord('a', keys(100, 200))];
    const dry = await service.call('POST', '/1/upload?dryRun=1', { d });
    expect(dry).toMatchObject({ processed: 1, unprocessed: [{ code: 512 }] });
  });

  it.each(['true', '2', ''])('%j is refused as ambiguous', async (value) => {
    const service = await run();
    const answer = await service.call('POST', `/1/upload?dryRun=${value}`, {
      d: [profileRecord('a')],
    });
    expect(answer).toMatchObject({ http: 400, error: expect.stringContaining('dryRun') as string });
    expect(await service.profile('identity', 'a')).toBeUndefined();
  });
});

describe('D an unsupported endpoint is 501 with a reason', () => {
  const wanted = { event_name: 'Buy', from: 20231101, to: 20231201 };
  it.each([
    [
      'POST',
      '/1/events.json',
      { ...wanted, event_properties: [{ name: 'n' }] },
      'event_properties',
    ],
    ['POST', '/1/profiles.json', { ...wanted, groups: {} }, 'groups'],
    ['POST', '/1/events.json?sort=asc', wanted, 'sort'],
    ['GET', '/1/profile.json?identity=a&fields=b', undefined, 'fields'],
    ['POST', '/1/upload?async=1', { d: [] }, 'async'],
    ['POST', '/1/counts/profiles.json', wanted, '/1/counts/profiles.json'],
    ['POST', '/1/delete/profiles.json', { identity: 'a' }, '/1/delete'],
  ])('refuses %s %s, which is not supported', async (method, path, body, word) => {
    const service = await run();
    await service.upload(eventRecord('a', 'Buy', day));
    const answer = await service.call(method, path, body);
    expect(answer).toMatchObject({ http: 501, status: 'fail', code: 501 });
    expect(answer.error).toContain(word);
  });

  it('names the right place of a cursor in the body', async () => {
    const service = await run();
    await service.upload(eventRecord('a', 'Buy', day));
    const cursor = await service.open('events', 'Buy', 20231114, 20231115);
    const answer = await service.call('POST', '/1/events.json', { ...wanted, cursor });
    expect(answer).toMatchObject({ http: 400, error: expect.stringContaining('URL') as string });
  });
});

describe('identities and names', () => {
  it.each([
    ['identity', '{"type":"profile","identity":"\\ud83d","profileData":{}}', 523],
    ['identity, low half', '{"type":"profile","identity":"a\\udc00b","profileData":{}}', 523],
    ['FBID', '{"type":"profile","FBID":"\\ud83d","profileData":{}}', 523],
    ['event name', '{"type":"event","identity":"a","evtName":"\\ud83d","evtData":{}}', 512],
    ['email', '{"type":"profile","identity":"a","profileData":{"Email":"\\ud83d@b.cd"}}', 515],
  ])('with half a surrogate pair are refused: %s', async (_, record, code) => {
    const service = await run();
    const answer = await service.call('POST', '/1/upload', `{"d":[${record}]}`);
    expect(answer.unprocessed).toMatchObject([{ code }]);
  });

  it('in a demerge with half a surrogate pair change no user', async () => {
    const service = await run();
    await service.upload(profileRecord('\uFFFD'), { ...profileRecord('\uFFFD'), objectId: 'dev' });
    const answer = await service.call(
      'POST',
      '/1/demerge/profiles.json',
      '{"identities":["\\ud83d"]}',
    );
    expect(answer).toMatchObject({ http: 400 });
    expect((await service.profile('identity', '\uFFFD'))?.platformInfo).toHaveLength(1);
  });

  it('can have 1024 characters of any kind', async () => {
    const service = await run();
    const answer = await service.upload(
      profileRecord('😀'.repeat(1024)),
      profileRecord('😀'.repeat(1025)),
    );
    expect(answer).toMatchObject({ processed: 1, unprocessed: [{ code: 523 }] });
    expect(await service.profile('identity', '😀'.repeat(1024))).toBeDefined();
  });
});

describe('D limits apply to the result of operators and later uploads', () => {
  const long = 'x'.repeat(513);

  it('256 custom keys over several uploads; flags and default fields do not count', async () => {
    const service = await run();
    const flags = { 'MSG-sms': true, 'MSG-push': true, 'MSG-other': true, Name: 'A', Age: 1 };
    expect(
      await service.upload(
        profileRecord('a', keys(200)),
        profileRecord('a', { ...keys(56, 200), ...flags }),
      ),
    ).toMatchObject({ processed: 2 });
    expect(
      await service.upload(profileRecord('a', { more: 1 }), profileRecord('a', { k0: 'new' })),
    ).toMatchObject({ processed: 1, unprocessed: [{ code: 512 }] });
    expect(await service.upload(profileRecord('a', { k1: { $delete: 1 }, more: 1 }))).toMatchObject(
      { processed: 1 },
    );
    expect((await service.profile('identity', 'a'))?.profileData).toMatchObject({
      k0: 'new',
      more: 1,
    });
  });

  it('a rejected record merges no users', async () => {
    const service = await run();
    await service.upload(profileRecord('a', keys(200)), {
      type: 'profile',
      objectId: 'dev',
      profileData: keys(100, 200),
    });
    const answer = await service.upload({ ...profileRecord('a', { n: 1 }), objectId: 'dev' });
    expect(answer.unprocessed).toMatchObject([{ code: 512 }]);
    expect((await service.profile('identity', 'a'))?.platformInfo).toEqual([]);
    expect(await service.profile('objectId', 'dev')).toMatchObject({ profileData: { k200: 0 } });
  });

  it.each<[string, unknown]>([
    ['$add', { $add: ['x', long] }],
    ['$set', { $set: [long] }],
    ['$remove', { $remove: [long] }],
    ['an object', { a: { b: [1, long] } }],
    ['a list of objects', [{ a: long }]],
    ['characters of several bytes', { a: 'é'.repeat(257) }],
  ])('allows 512 bytes in %s, and no more', async (_, value) => {
    const service = await run();
    const answer = await service.upload(profileRecord('a', { k: value }));
    expect(answer.unprocessed).toMatchObject([
      { code: 512, error: expect.stringContaining('512 bytes') as string },
    ]);
  });

  it.each(['Email', 'Phone', 'Name', 'Gender', 'Age', 'Education'])(
    'an operator on %s is refused, but $delete',
    async (field) => {
      const service = await run();
      const good = {
        Email: 'a@b.cd',
        Phone: '+4712345678',
        Name: 'A',
        Gender: 'F',
        Age: 30,
        Education: 'School',
      };
      await service.upload(profileRecord('a', good));
      const before = await service.profile('identity', 'a');
      for (const operator of [{ $add: ['x'] }, { $set: ['x'] }, { $incr: 1 }])
        expect(
          (await service.upload(profileRecord('a', { [field]: operator }))).unprocessed,
        ).toMatchObject([{ code: 512 }]);
      expect(await service.profile('identity', 'a')).toEqual(before);
      expect(await service.upload(profileRecord('a', { [field]: { $delete: 1 } }))).toMatchObject({
        processed: 1,
      });
    },
  );

  it('rejects numbers too large for a sum quickly', async () => {
    const service = await run();
    const upload = (data: string) =>
      service.call(
        'POST',
        '/1/upload',
        `{"d":[{"type":"profile","identity":"a","profileData":{${data}}}]}`,
      );
    const digits = '9'.repeat(9_900_000);
    const processorTime = async (data: string) => {
      const before = process.cpuUsage();
      expect(await upload(data)).toMatchObject({ processed: 0 });
      return process.cpuUsage(before).user;
    };
    // The machine may be busy and slow: the best of three, and against a text of the same length.
    // A sum takes three times as long as the text; summed before it is checked, seventy times.
    const sums: number[] = [];
    const texts: number[] = [];
    for (let round = 0; round < 3; round++) {
      sums.push(await processorTime(`"n":{"$incr":${digits}}`));
      texts.push(await processorTime(`"t":"${digits}"`));
    }
    expect(Math.min(...sums) / Math.min(...texts)).toBeLessThan(9);
    expect((await upload('"n":{"$incr":1e400}')).unprocessed).toMatchObject([{ code: 512 }]);
    expect(await upload('"n":1.7e308,"m":1e400')).toMatchObject({ processed: 1 });
    expect((await upload('"n":{"$incr":1.7e308}')).unprocessed).toMatchObject([{ code: 512 }]);
    expect((await upload('"m":{"$incr":1.5}')).unprocessed).toMatchObject([{ code: 512 }]);
    const { text } = await service.call('GET', '/1/profile.json?identity=a');
    expect(text).toContain('"n":1.7e308,"m":1e400');
  });
});

describe('time', () => {
  it.each([
    ['fills', { n: 1, later: 2, sum: 5 }],
    ['overwrites', { n: 2, later: 2, sum: 7 }],
  ] as const)('orders profile records by their time: %s', async (olderProfile, expected) => {
    const service = await run({ variants: { olderProfile } });
    await service.upload({ ...profileRecord('a', { n: 1, sum: 5 }), ts: day });
    await service.upload({
      ...profileRecord('a', { n: 2, later: 2, sum: { $incr: 2 } }),
      ts: day - 1,
    });
    expect((await service.profile('identity', 'a'))?.profileData).toEqual(expected);
    // Of the same second, of a later one, and without a time.
    for (const ts of [day, day + 1, undefined, undefined]) {
      await service.upload({ ...profileRecord('a', { n: `at ${ts}` }), ts });
      expect((await service.profile('identity', 'a'))?.profileData).toMatchObject({
        n: `at ${ts}`,
      });
    }
  });

  it('does not treat later records as older after a time in the future', async () => {
    const seconds = 1_700_000_000;
    const service = await run({ now: () => 1000 * seconds });
    await service.upload({ ...profileRecord('a', { n: 1 }), ts: 99_999_999_999 });
    await service.upload({ ...profileRecord('a', { n: 2 }), ts: seconds + 1 });
    expect((await service.profile('identity', 'a'))?.profileData).toMatchObject({ n: 2 });
  });

  it.each([
    [1_578_873_599, false],
    [1_578_873_600, true],
  ])(
    'an event Channel Unsubscribed at %i unsubscribes from 2020-01-13 on',
    async (ts, unsubscribes) => {
      const service = await run();
      await service.upload(profileRecord('a', { Email: 'a@b.cd' }));
      await service.upload(
        eventRecord('a', 'Channel Unsubscribed', ts, { Channel: 'email', Address: 'a@b.cd' }),
      );
      expect((await service.profile('identity', 'a'))?.profileData?.['MSG-dndEmail']).toBe(
        unsubscribes,
      );
    },
  );
});

describe('D recorded texts and echoes', () => {
  const good = { Email: 'a@b.cd', Phone: '+4712345678' };
  it.each<[number, string, object, object]>([
    [515, 'Profile data is incorrect. Email is not valid.', { Email: 'x', Age: 'old' }, {}],
    [
      516,
      'Profile data is incorrect. Phone number is not valid.',
      { Employed: 'x', Phone: 'x' },
      {},
    ],
    [
      517,
      'Profile data is incorrect. Employed needs to be Y/N.',
      { ...good, Employed: 'x' },
      { Phone: 4712345678, identity: 'a' },
    ],
    [
      518,
      'Profile data is incorrect. Education needs to be School/College/Graduate..',
      { ...good, Education: 'x' },
      { Phone: 4712345678, identity: 'a' },
    ],
    [
      519,
      'Profile data is incorrect. Married needs to be Y/N.',
      { ...good, Married: 'x' },
      { Phone: 4712345678, identity: 'a' },
    ],
    [
      520,
      'Profile data is incorrect. Age is invalid.',
      { ...good, Age: 'x' },
      { Phone: 4712345678, identity: 'a' },
    ],
  ])('echoes the record altered with code %i: %s', async (code, text, data, altered) => {
    const service = await run();
    const { unprocessed } = await service.upload(profileRecord('b'), profileRecord('a', data));
    expect(unprocessed).toEqual([
      {
        status: 'fail',
        code,
        error: `${text} Skipped record number : 2`,
        record: { identity: 'a', type: 'profile', profileData: { ...data, ...altered } },
      },
    ]);
  });

  it.each([
    [
      509,
      { type: 'event', identity: 'a', evtData: {} },
      'Event Name is incorrect. ErrorCode: 509 - Event name is mandatory.',
    ],
    [
      513,
      eventRecord('a', 'App Launched', day),
      'Event Name is incorrect. ErrorCode: 513 - Trying to raise a restricted system event.',
    ],
    [
      525,
      { ...profileRecord('a', { Age: 'x' }), ts: 0 },
      'Timestamp should be present in the Unix Epoch format.',
    ],
  ])('rejects a record with code %i and the text of the service', async (code, record, text) => {
    const service = await run({ variants: { recordNumber: 'tight' } });
    const { unprocessed } = await service.upload(record);
    expect(unprocessed).toMatchObject([{ code, error: `${text} Skipped record number: 1` }]);
  });
});

describe('D robustness', () => {
  it('refuses a body nested 10,000 deep as a whole', async () => {
    const service = await run();
    const deep = '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000);
    const body = `{"d":[{"type":"profile","identity":"deep","profileData":{"deep":${deep}}}]}`;
    const answer = await service.call('POST', '/1/upload', body);
    expect(answer).toMatchObject({ http: 400, status: 'fail' });
    expect(await service.profile('identity', 'deep')).toBeUndefined();
  });

  it('keeps nothing of a body of 8 MB after the bytes that are nested too deeply', async () => {
    const service = await run();
    const deep = `{"d":[${'["é",'.repeat(1_300_000)}`;
    const answer = await service.call('POST', '/1/upload', deep);
    expect(answer).toMatchObject({ http: 400, error: 'Malformed request' });
    const { text } = await service.call('GET', '/_local/requests');
    const { requests } = JSON.parse(text) as {
      requests: { reason: string; bodyBytes: number; body: string }[];
    };
    expect(requests).toMatchObject([
      {
        reason: expect.stringContaining('nested deeper than 256'),
        bodyBytes: Buffer.byteLength(deep),
      },
    ]);
    expect(requests[0]?.body.length).toBeLessThan(deep.length / 10);
  });

  it('stores or rejects a record nested 250 deep together with its neighbors', async () => {
    const service = await run({ variants: { echo: 'changed' } });
    const deep = '{"a":'.repeat(250) + '1' + '}'.repeat(250);
    const record = (identity: string, more = '') =>
      `{"type":"profile","identity":"${identity}","profileData":{"deep":${deep}${more}}}`;
    const body = `{"d":[${record('stored')},${record('refused', ',"Email":"x"')},{"type":"profile","identity":"last","profileData":{}}]}`;
    const answer = await service.call('POST', '/1/upload', body);
    expect(answer).toMatchObject({ http: 200, processed: 2 });
    expect(answer.text).toContain('"code":515');
    expect((await service.call('GET', '/1/profile.json?identity=stored')).text).toContain(deep);
    expect(await service.profile('identity', 'last')).toBeDefined();
  });

  it('streams a page of everything, and serves others in between', async () => {
    const service = await run();
    const events = Array.from({ length: 1000 }, (_, n) =>
      eventRecord(`u${n}`, 'Buy', day, { text: 'x'.repeat(100) }),
    );
    for (let n = 0; n < 5; n++) await service.upload(...events);
    const cursor = await service.open('events', 'Buy', 20231101, 20231201, '?batch_size=10');
    const answer = await fetch(`${service.url}/1/events.json?cursor=${cursor}`, { headers });
    let bytes = 0;
    let others = 0;
    for await (const chunk of answer.body!) {
      bytes += chunk.length;
      others += Number((await service.call('GET', '/1/profile.json?identity=u1')).http === 200);
    }
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(others).toBeGreaterThan(10);
  });

  it('applies limits of requests in flight without latency too', async () => {
    const service = await run({ maxConcurrent: { upload: 2, other: 1 } });
    const body = JSON.stringify({
      d: Array.from({ length: 300 }, (_, n) => profileRecord(`u${n}`)),
    });
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = ['POST /1/upload HTTP/1.1', 'Host: localhost', 'Connection: close', ...lines];
    const text = [...head, `Content-Length: ${body.length}`, '', body].join('\r\n');
    const sockets = Array.from({ length: 8 }, () =>
      connect(Number(new URL(service.url).port), '127.0.0.1').setEncoding('utf8'),
    );
    // The service takes up one connection after the other; then all of them are used at once.
    for (const socket of sockets)
      socket.write('GET /_local/health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    for (const socket of sockets) socket.write(text);
    const answers = await Promise.all(sockets.map((socket) => once(socket, 'data')));
    const statuses = answers.map(([answer]) => /\d{3}/.exec(String(answer))?.[0]);
    expect(statuses.filter((status) => status === '200').length).toBeGreaterThan(1);
    expect(statuses.filter((status) => status === '429').length).toBeGreaterThan(1);
  });

  it('frees the slot of a slow body after a while', async () => {
    const service = await run({ bodyTimeoutMs: 60, maxConcurrent: { upload: 1, other: 1 } });
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.write(
      ['POST /1/upload HTTP/1.1', 'Host: localhost', ...head, 'Content-Length: 100', '', '{'].join(
        '\r\n',
      ),
    );
    await expect.poll(async () => (await service.upload(profileRecord('a'))).http).toBe(429);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await once(socket, 'end');
    expect(text).toMatch(/^HTTP\/1\.1 408 [^]*did not come within 60 ms/);
    await expect.poll(async () => (await service.upload(profileRecord('a'))).http).toBe(200);
  });

  it('does not report a client that disconnects during the latency as a defect', async () => {
    const defects: unknown[] = [];
    const service = await run({ latencyMs: 100, onDefect: (error) => defects.push(error) });
    const left = fetch(`${service.url}/1/profile.json?identity=a`, {
      headers,
      signal: AbortSignal.timeout(30),
    });
    await expect(left).rejects.toThrow('timeout');
    expect(await service.call('GET', '/1/profile.json?identity=a')).toMatchObject({ http: 200 });
    expect(defects).toEqual([]);
  });

  it('refuses two Host headers and a gzip body with a reason', async () => {
    const service = await run();
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.write(
      'GET /1/profile.json?identity=a HTTP/1.1\r\nHost: localhost\r\nhost: evil.test\r\nConnection: close\r\n\r\n',
    );
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 400 [^]*Two Host headers/);

    // Some clients compress and say nothing of it.
    for (const encoding of [{ 'Content-Encoding': 'gzip' }, {}]) {
      const answer = await fetch(`${service.url}/1/upload`, {
        method: 'POST',
        headers: { ...headers, ...encoding },
        body: gzipSync('{"d":[]}'),
      });
      expect(await replyOf(answer)).toMatchObject({
        http: 415,
        error: expect.stringContaining('gzip') as string,
      });
    }
  });
});

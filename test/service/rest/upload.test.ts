import { describe, expect, it } from 'vitest';
import { eventRecord, profileRecord, run } from '../running.js';

describe('profiles', () => {
  it('are created, updated and read with default and custom fields apart', async () => {
    const service = await run();
    await service.upload(
      profileRecord('a', { Name: 'Ann', Email: 'ann@example.test', City: 'Oslo' }),
    );
    await service.upload(
      profileRecord('a', { Phone: '+4712345678', City: 'Bergen', 'Last Seen': '$D_1700000000' }),
    );
    expect(await service.profile('identity', 'a')).toEqual({
      identity: 'a',
      name: 'Ann',
      email: 'ann@example.test',
      phone: '+4712345678',
      profileData: {
        City: 'Bergen',
        'Last Seen': '$D_1700000000',
        'MSG-sms': true,
        'MSG-whatsapp': true,
        'MSG-email': true,
        'MSG-dndPhone': false,
        'MSG-dndWhatsApp': false,
        'MSG-dndEmail': false,
      },
      all_identities: ['a'],
      events: {},
      platformInfo: [],
    });
  });

  it('keep numbers, escapes and unusual keys as written', async () => {
    const service = await run();
    const data =
      '"big":12345678901234567890123,"one":1.0,"exp":1E5,"minus":-0,"text":"\\u00e9\\ud83d","__proto__":"x","constructor":{"a":[1.50]},"7":7,"":0';
    await service.call(
      'POST',
      '/1/upload',
      `{"d":[{"type":"profile","identity":"a","profileData":{${data}}}]}`,
    );
    const { text } = await service.call('GET', '/1/profile.json?identity=a');
    expect(text).toContain(`"profileData":{${data}}`);
  });

  it('keep such values through an update of another field', async () => {
    const service = await run();
    await service.call(
      'POST',
      '/1/upload',
      '{"d":[{"type":"profile","identity":"a","profileData":{"big":12345678901234567890,"__proto__":1.0}}]}',
    );
    await service.upload(profileRecord('a', { other: 1 }));
    const { text } = await service.call('GET', '/1/profile.json?identity=a');
    expect(text).toContain('{"big":12345678901234567890,"__proto__":1.0,"other":1}');
  });

  it('are keyed by objectId, FBID and GPID as well', async () => {
    const service = await run();
    await service.upload({ objectId: 'dev-1', FBID: '77', type: 'profile', profileData: { a: 1 } });
    await service.upload({ FBID: '77', type: 'profile', profileData: { b: 2 } });
    const profile = await service.profile('objectId', 'dev-1');
    expect(profile).toMatchObject({ profileData: { a: 1, b: 2 }, all_identities: [] });
    expect(profile).not.toHaveProperty('identity');
  });

  it.each([
    ['$add', ['x', 'y'], { $add: ['z', 'x'] }, ['x', 'y', 'z']],
    ['$add to a single string', 'x', { $add: ['z'] }, ['x', 'z']],
    ['$remove', ['x', 'y'], { $remove: ['x'] }, ['y']],
    ['$set', ['x', 'y'], { $set: ['q'] }, ['q']],
    ['$incr', 40, { $incr: 2 }, 42],
    ['$decr', 1.5, { $decr: 0.25 }, 1.25],
    ['$incr of nothing', undefined, { $incr: 3 }, 3],
    ['$delete', 'x', { $delete: 1 }, undefined],
    ['a nested object is a value', undefined, { a: { $b: 1 } }, { a: { $b: 1 } }],
    ['null is a value', 'x', null, null],
  ])('set a field by the rule of %s', async (_, before, value, after) => {
    const service = await run();
    await service.upload(profileRecord('a', { field: before }));
    expect(await service.upload(profileRecord('a', { field: value }))).toMatchObject({
      status: 'success',
    });
    const { profileData } = (await service.profile('identity', 'a')) ?? {};
    expect(profileData?.['field']).toEqual(after);
  });

  it('add large integers exactly with $incr', async () => {
    const service = await run();
    const send = (value: string) =>
      service.call(
        'POST',
        '/1/upload',
        `{"d":[{"type":"profile","identity":"a","profileData":{"n":${value}}}]}`,
      );
    await send('9007199254740993');
    await send('{"$incr":9007199254740993}');
    expect((await service.call('GET', '/1/profile.json?identity=a')).text).toContain(
      '"n":18014398509481986',
    );
  });

  it('keep the latest 100 strings of a multi-value', async () => {
    const service = await run();
    const strings = Array.from({ length: 103 }, (_, n) => `s${n}`);
    await service.upload(profileRecord('a', { tags: strings }));
    await service.upload(profileRecord('a', { tags: { $add: ['last'] } }));
    const tags = (await service.profile('identity', 'a'))?.profileData?.['tags'];
    expect(tags).toEqual([...strings.slice(4), 'last']);
  });

  it('cannot be found by an email that was deleted or moved to another user', async () => {
    const service = await run();
    await service.upload(
      profileRecord('a', { Email: 'x@example.test' }),
      profileRecord('b', { Email: 'x@example.test' }),
    );
    expect((await service.profile('email', 'X@example.test'))?.identity).toBe('a');
    await service.upload(profileRecord('a', { Email: { $delete: 1 } }));
    expect((await service.profile('email', 'x@example.test'))?.identity).toBe('b');
    await service.upload(profileRecord('b', { Email: 'y@example.test' }));
    expect(await service.profile('email', 'x@example.test')).toBeUndefined();
  });
});

describe('validation', () => {
  const long = 'x'.repeat(513);
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));

  it.each([
    [524, 'no object', 5],
    [524, 'another type', { identity: 'a', type: 'device' }],
    [523, 'no identity', { type: 'profile', profileData: {} }],
    [523, 'empty identity', { identity: '', type: 'profile', profileData: {} }],
    [523, 'identity of 1025 characters', profileRecord('x'.repeat(1025))],
    [523, 'identity a number', { identity: 7, type: 'profile', profileData: {} }],
    [526, 'objectId with a blank', { objectId: 'a b', type: 'profile', profileData: {} }],
    [
      526,
      'objectId of 65 characters',
      { objectId: 'a'.repeat(65), type: 'profile', profileData: {} },
    ],
    [525, 'ts in milliseconds', { ...profileRecord('a'), ts: 1_700_000_000_000 }],
    [525, 'ts 0', { ...profileRecord('a'), ts: 0 }],
    [525, 'ts as text', { ...eventRecord('a', 'Buy', 1), ts: '1700000000' }],
    [512, 'no profileData', { identity: 'a', type: 'profile' }],
    [514, 'gender', profileRecord('a', { Gender: 'female' })],
    [515, 'email', profileRecord('a', { Email: 'ann@example' })],
    [516, 'phone without plus', profileRecord('a', { Phone: '4712345678' })],
    [516, 'phone as number', profileRecord('a', { Phone: 4712345678 })],
    [517, 'Employed', profileRecord('a', { Employed: 'yes' })],
    [518, 'Education', profileRecord('a', { Education: 'PhD' })],
    [519, 'Married', profileRecord('a', { Married: true })],
    [520, 'age', profileRecord('a', { Age: 'old' })],
    [512, 'profile key of 121 bytes', profileRecord('a', { ['é'.repeat(60) + 'x']: 1 })],
    [512, 'profile value of 513 bytes', profileRecord('a', { k: long })],
    [512, 'string of 513 bytes in a multi-value', profileRecord('a', { k: ['x', long] })],
    [512, '257 custom keys', profileRecord('a', keys(257))],
    [512, 'unknown operator', profileRecord('a', { k: { $push: 1 } })],
    [512, '$incr by text', profileRecord('a', { k: { $incr: '1' } })],
    [512, 'two operators', profileRecord('a', { k: { $incr: 1, $decr: 1 } })],
    [509, 'no event name', { identity: 'a', type: 'event', evtData: {} }],
    [513, 'reserved event', eventRecord('a', 'App Launched', 1)],
    [512, 'evtData a list', { identity: 'a', type: 'event', evtName: 'Buy', evtData: [] }],
    [512, 'nested property', eventRecord('a', 'Buy', 1, { a: { b: 1 } })],
    [512, 'Items outside Charged', eventRecord('a', 'Buy', 1, { Items: [{ a: 1 }] })],
    [512, 'nested item', eventRecord('a', 'Charged', 1, { Items: [{ a: [] }] })],
    [512, 'property value of 513 bytes', eventRecord('a', 'Buy', 1, { k: long })],
    [522, '257 properties', eventRecord('a', 'Buy', 1, keys(257))],
  ])('rejects one record with code %i: %s', async (code, _, record) => {
    const service = await run({ variants: { echo: 'intact' } });
    const answer = await service.upload(profileRecord('good'), record);
    expect(answer).toMatchObject({ http: 200, status: 'partial', processed: 1 });
    expect(answer.unprocessed).toEqual([
      {
        status: 'fail',
        code,
        error: expect.stringMatching(/Skipped record number : 2$/) as string,
        record,
      },
    ]);
  });

  it('accepts values just within the limits', async () => {
    const service = await run();
    const answer = await service.upload(
      profileRecord('x'.repeat(1024), {
        ...keys(256),
        Age: '44',
        Gender: 'F',
        Education: 'School',
      }),
      profileRecord('a', { ['é'.repeat(60)]: 'x'.repeat(512), Gender: null }),
      eventRecord('a', 'Charged', 1, { Amount: 1, Items: [{ a: 1 }, { b: 'x' }] }),
      eventRecord('a', 'Buy', 1, keys(256)),
    );
    expect(answer).toMatchObject({ status: 'success', processed: 4, unprocessed: [] });
  });

  it('uses the error texts of the recorded response', async () => {
    const service = await run();
    const answer = await service.upload(profileRecord('a'), profileRecord('b', { Email: 'no' }));
    expect(answer.unprocessed?.[0]?.error).toBe(
      'Profile data is incorrect. Email is not valid. Skipped record number : 2',
    );
  });

  it('answers fail if no record is valid, and stores nothing of an invalid one', async () => {
    const service = await run();
    const answer = await service.upload(profileRecord('a', { City: 'Oslo', Email: 'no' }));
    expect(answer).toMatchObject({ http: 200, status: 'fail', processed: 0 });
    expect(await service.profile('identity', 'a')).toBeUndefined();
  });

  it('refuses more than 1000 records, and a body without a list', async () => {
    const service = await run();
    const thousand = Array.from({ length: 1000 }, (_, n) => profileRecord(`u${n}`));
    expect(await service.upload(...thousand)).toMatchObject({ status: 'success', processed: 1000 });
    for (const body of [
      { d: [...thousand, profileRecord('x')] },
      { d: {} },
      {},
      [],
      'null',
      '{"d":"[]"}',
    ]) {
      expect(await service.call('POST', '/1/upload', body)).toMatchObject({
        http: 400,
        status: 'fail',
        error: 'Malformed request',
        code: 400,
      });
    }
    expect(await service.profile('identity', 'x')).toBeUndefined();
  });
});

describe('events', () => {
  it('are counted in summaries, twice if sent twice', async () => {
    const service = await run();
    const bought = eventRecord('a', 'Buy', 1_700_000_100);
    await service.upload(
      bought,
      bought,
      eventRecord('a', 'Buy', 1_700_000_000),
      eventRecord('a', 'buy', 5),
    );
    expect((await service.profile('identity', 'a'))?.events).toEqual({
      Buy: { count: 3, first_seen: 1_700_000_000, last_seen: 1_700_000_100 },
      buy: { count: 1, first_seen: 5, last_seen: 5 },
    });
  });

  it('without a time happen at the time of upload', async () => {
    const service = await run({ now: () => 1_700_000_000_999 });
    await service.upload({ identity: 'a', type: 'event', evtName: 'Buy' });
    expect((await service.profile('identity', 'a'))?.events?.['Buy']?.first_seen).toBe(
      1_700_000_000,
    );
  });
});

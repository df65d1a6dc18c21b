import { describe, expect, it } from 'vitest';
import { eventRecord, profileRecord, run, type Running } from '../running.js';

describe('endpoint 5', () => {
  it('finds a user by email, identity or objectId', async () => {
    const service = await run();
    await service.upload({
      ...profileRecord('a+b', { Email: 'a+b@example.test' }),
      objectId: '(dev)!1',
    });
    for (const [by, value] of [
      ['identity', 'a+b'],
      ['email', 'a+b@example.test'],
      ['objectId', '(dev)!1'],
    ] as const) {
      expect(await service.profile(by, value)).toMatchObject({
        identity: 'a+b',
        all_identities: ['a+b'],
      });
    }
    expect((await service.profile('identity', 'a+b'))?.platformInfo).toMatchObject([
      { objectId: '(dev)!1' },
    ]);
  });

  it('distinguishes users whose identities have the same hash', async () => {
    const service = await run();
    // Two words with one FNV-1a hash of 32 bits.
    await service.upload(profileRecord('costarring', { n: 1 }), profileRecord('liquid', { n: 2 }));
    await service.upload(profileRecord('liquid', { n: 3 }), profileRecord('costarring', { n: 4 }));
    for (const [identity, n] of [
      ['costarring', 4],
      ['liquid', 3],
    ] as const) {
      expect(await service.profile('identity', identity)).toMatchObject({
        all_identities: [identity],
        profileData: { n },
      });
    }
  });

  it('answers success without a record if no user matches', async () => {
    const service = await run();
    const { text } = await service.call('GET', '/1/profile.json?identity=nobody');
    expect(text).toBe('{"status":"success"}');
  });

  it.each(['', '?identity=', '?identity=a&email=b', '?identity=a&identity=b'])(
    'refuses "%s": exactly one identifier',
    async (query) => {
      const service = await run();
      expect(await service.call('GET', `/1/profile.json${query}`)).toMatchObject({
        http: 400,
        code: 400,
      });
    },
  );
});

/** Users `a` and `b`, each with data and events, made one by the device of `a`. */
async function runMerged(): Promise<Running> {
  const service = await run();
  await service.upload({
    ...profileRecord('a', { Email: 'a@example.test', City: 'Oslo' }),
    objectId: 'dev',
  });
  await service.upload(profileRecord('b', { Email: 'b@example.test', City: 'Rome', Plan: 'gold' }));
  await service.upload(
    eventRecord('a', 'Buy', 10),
    eventRecord('b', 'Buy', 5),
    eventRecord('a', 'Sell', 3),
    eventRecord('b', 'Sell', 7),
  );
  await service.upload({ ...profileRecord('b', { Points: 1 }), objectId: 'dev' });
  return service;
}

describe('merging by a second identity through objectId', () => {
  it('makes one profile of both: the older one wins, gaps are filled, events are added up', async () => {
    const service = await runMerged();
    const merged = await service.profile('identity', 'b');
    expect(merged).toMatchObject({
      identity: 'a',
      email: 'a@example.test',
      profileData: { City: 'Oslo', Plan: 'gold', Points: 1 },
      all_identities: ['a', 'b'],
      events: {
        Buy: { count: 2, first_seen: 5, last_seen: 10 },
        Sell: { count: 2, first_seen: 3, last_seen: 7 },
      },
    });
    expect(await service.profile('identity', 'a')).toEqual(merged);
    expect(await service.profile('objectId', 'dev')).toEqual(merged);
    expect(await service.profile('email', 'b@example.test')).toBeUndefined();
  });

  it('keeps one value of a field that both had, even if an event merges them', async () => {
    const service = await run();
    await service.upload({ ...profileRecord('a', { City: 'Oslo' }), objectId: 'dev' });
    await service.upload(profileRecord('b', { City: 'Rome', Plan: 'gold' }));
    await service.upload({ ...eventRecord('b', 'Buy', 10), objectId: 'dev' });
    const { text } = await service.call('GET', '/1/profile.json?identity=b');
    expect(text).toContain('"profileData":{"City":"Oslo","Plan":"gold"}');
  });

  it('changes nothing if the record is rejected because of both profiles', async () => {
    const service = await run();
    const keys = (start: string) =>
      Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${start}${n}`, n]));
    const ofDevice = { ...profileRecord('a', keys('a')), objectId: 'dev' };
    await service.upload(ofDevice, profileRecord('b', keys('b')), eventRecord('b', 'Buy', 5));
    const both = { ...profileRecord('b', { Points: 1 }), objectId: 'dev' };
    expect(await service.upload(both)).toMatchObject({
      status: 'fail',
      unprocessed: [{ code: 512 }],
    });
    expect(await service.profile('objectId', 'dev')).toMatchObject({ all_identities: ['a'] });
    expect(await service.profile('identity', 'b')).toMatchObject({
      all_identities: ['b'],
      events: { Buy: { count: 1 } },
    });
  });

  it('exports the merged user once, with the events of both', async () => {
    const service = await runMerged();
    const users = await service.pages(
      'profiles',
      await service.open('profiles', 'Buy', 19700101, 19700101),
    );
    expect(users.flatMap(({ records = [] }) => records.map((record) => record.identity))).toEqual([
      'a',
    ]);
    const events = await service.pages(
      'events',
      await service.open('events', 'Buy', 19700101, 19700101),
    );
    expect(
      events.flatMap(({ records = [] }) => records.map(({ profile }) => profile['identity'])),
    ).toEqual(['a', 'a']);
  });
});

describe('endpoint 8', () => {
  const demerge = (service: Running, ...identities: unknown[]) =>
    service.call('POST', '/1/demerge/profiles.json', { identities });

  it('separates identities and devices; the first identity keeps the events', async () => {
    const service = await runMerged();
    expect((await demerge(service, 'b')).text).toBe('{"status":"success"}');
    const [a, b, device] = [
      await service.profile('identity', 'a'),
      await service.profile('identity', 'b'),
      await service.profile('objectId', 'dev'),
    ];
    expect(a).toMatchObject({
      all_identities: ['a'],
      platformInfo: [],
      events: { Buy: { count: 2 } },
    });
    expect(b).toMatchObject({
      all_identities: ['b'],
      platformInfo: [],
      events: {},
      profileData: { Plan: 'gold' },
    });
    expect(device).toMatchObject({
      all_identities: [],
      platformInfo: [{ objectId: 'dev' }],
      events: {},
    });
    expect(device).not.toHaveProperty('identity');
  });

  it('can be repeated, and ignores unknown identities', async () => {
    const service = await runMerged();
    await demerge(service, 'a', 'nobody');
    const after = await service.profile('identity', 'a');
    expect(await demerge(service, 'a', 'a')).toMatchObject({ status: 'success' });
    expect(await service.profile('identity', 'a')).toEqual(after);
  });

  it('accepts 0 to 100 strings', async () => {
    const service = await run();
    const path = '/1/demerge/profiles.json';
    const identities = Array.from({ length: 101 }, (_, n) => `u${n}`);
    expect(await service.call('POST', path, {})).toMatchObject({ status: 'success' });
    expect(await service.call('POST', path, { identities: identities.slice(1) })).toMatchObject({
      http: 200,
    });
    for (const body of [{ identities }, { identities: 'a' }, { identities: [7] }, []]) {
      expect(await service.call('POST', path, body)).toMatchObject({
        http: 400,
        error: 'Malformed request',
      });
    }
  });
});

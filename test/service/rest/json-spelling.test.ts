import { describe, expect, it } from 'vitest';
import { eventRecord, profileRecord, run } from '../running.js';

// JSON has several spellings of a value: "a" and "\u0061", 1 and 1.0 and 1e0. The service must not tell them apart.

const upload = (profileData: string, more = '') =>
  `{"d":[{"type":"profile","identity":"a"${more},"profileData":${profileData}}]}`;

async function uploaded(before: object, profileData: string) {
  const service = await run();
  await service.upload(profileRecord('a', before));
  const { status, unprocessed } = await service.call('POST', '/1/upload', upload(profileData));
  const profile = await service.profile('identity', 'a');
  return { status, code: unprocessed?.[0]?.code, data: profile?.profileData, profile };
}

describe('operators', () => {
  it.each([
    ['{"\\u0024add":["b"]}', ['a', 'b']],
    ['{ \n "$\\u0061dd" : ["\\u0061","b"]}', ['a', 'b']],
    ['{"$remove":["\\u0061"]}', []],
    ['{"\\u0024set":["x","\\u0078"]}', ['x']],
    ['["\\u0061","a","b"]', ['a', 'b']],
  ])('apply %s to a list by the text of its values', async (value, list) => {
    const { status, data } = await uploaded({ k: ['a'] }, `{"k":${value}}`);
    expect([status, data]).toEqual(['success', { k: list }]);
  });

  it.each([
    ['{"\\u0024incr":2}', 7],
    ['{"$decr":2.0}', 3],
    ['{"$incr":1e1}', 15],
  ])('apply %s to a number', async (value, sum) => {
    const { status, data } = await uploaded({ k: 5 }, `{"\\u006b":${value}}`);
    expect([status, data]).toEqual(['success', { k: sum }]);
  });

  it.each(['{"\\u0024delete":1}', '{"$delete":1.0}', '{"$delete":1e0}'])(
    'delete custom and default fields by %s',
    async (value) => {
      const before = { k: 5, Email: 'a@example.test' };
      const { profile } = await uploaded(before, `{"k":${value},"Email":${value}}`);
      expect(profile?.email).toBeUndefined();
      expect(profile?.profileData).not.toHaveProperty('k');
    },
  );

  it.each(['{"\\u0024push":1}', '{"k":1,"$add":["a"]}', '{"$add":["a"],"\\u0024remove":["b"]}'])(
    'reject %s as an invalid operator',
    async (value) => {
      expect(await uploaded({ k: ['a'] }, `{"k":${value}}`)).toMatchObject({
        status: 'fail',
        code: 512,
        data: { k: ['a'] },
      });
    },
  );

  it('ignore objects whose texts only contain a $', async () => {
    const { data } = await uploaded({}, '{"k":{"a":"$add","b":{"$add":["x"]}}}');
    expect(data).toEqual({ k: { a: '$add', b: { $add: ['x'] } } });
  });
});

describe('numbers', () => {
  it.each(['4.2e1', '42.0', '"42"'])('accepts the age %s', async (age) => {
    const { status } = await uploaded({}, `{"Age":${age}}`);
    expect(status).toBe('success');
  });

  it.each(['42.5', '1e3', '-1'])('rejects the age %s', async (age) => {
    expect(await uploaded({}, `{"Age":${age}}`)).toMatchObject({ status: 'fail', code: 520 });
  });

  it.each(['1.7e9', '1700000000.0'])('accepts the time %s', async (ts) => {
    const service = await run();
    const body = `{"d":[{"type":"event","identity":"a","evtName":"Chat","ts":${ts}}]}`;
    expect(await service.call('POST', '/1/upload', body)).toMatchObject({ status: 'success' });
    expect((await service.profile('identity', 'a'))?.events).toEqual({
      Chat: { count: 1, first_seen: 1_700_000_000, last_seen: 1_700_000_000 },
    });
  });

  it.each(['1.7e12', '1700000000.5', '0.0', '"1700000000"', 'null'])(
    'rejects the time %s',
    async (ts) => {
      const service = await run();
      const body = upload('{}', `,"ts":${ts}`);
      expect((await service.call('POST', '/1/upload', body)).unprocessed?.[0]?.code).toBe(525);
    },
  );

  it('accepts days of an export in every spelling', async () => {
    const service = await run();
    await service.upload(eventRecord('a', 'Chat', 1_700_000_000));
    const body = '{"event\\u005fname":"Ch\\u0061t","from":2.0231114e7,"to":20231114.0}';
    const { cursor } = await service.call('POST', '/1/events.json', body);
    expect((await service.page('events', cursor ?? '')).records).toHaveLength(1);
  });
});

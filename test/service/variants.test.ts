import { describe, expect, it } from 'vitest';
import type { Variants } from '../../src/service/start.js';
import { eventRecord, headers, profileRecord, run, type Running } from './running.js';

const noon = 1_700_049_600;

async function runWithEvents(variants: Partial<Variants>): Promise<Running> {
  const service = await run({ variants });
  const record = (n: number) => eventRecord(`u${n}`, 'Buy', noon + n, { n, text: 'a: "b", c' });
  await service.upload(...Array.from({ length: 24 }, (_, n) => record(n)));
  return service;
}

const firstPage = async (service: Running) =>
  service.page('events', await service.open('events', 'Buy', 20231115, 20231115, '?batch_size=23'));

const plain = async () => {
  const { records } = await firstPage(await runWithEvents({}));
  return records;
};

describe('keyStyle', () => {
  it.each([
    ['verbatim', { 'Last Seen In': 'Oslo', 'MSG-email': true, 'MSG-dndEmail': false }],
    ['folded', { lastseenin: 'Oslo', 'msg-email': true, 'msg-dndemail': false }],
  ] as const)('%s', async (keyStyle, profileData) => {
    const service = await run({ variants: { keyStyle } });
    await service.upload(profileRecord('a', { 'Last Seen In': 'Oslo', Email: 'a@example.test' }));
    expect((await service.profile('identity', 'a'))?.profileData).toEqual(profileData);
  });
});

describe('order of members', () => {
  it.each([
    [{ status: 'first', nextCursor: 'after' }, ['status', 'records', 'next_cursor']],
    [{ status: 'first', nextCursor: 'before' }, ['status', 'next_cursor', 'records']],
    [{ status: 'last', nextCursor: 'after' }, ['records', 'next_cursor', 'status']],
    [{ status: 'last', nextCursor: 'before' }, ['next_cursor', 'records', 'status']],
  ] as const)('%j', async (variants, keys) => {
    const { text, records } = await firstPage(await runWithEvents(variants));
    expect(Object.keys(JSON.parse(text) as object)).toEqual(keys);
    expect(records).toEqual(await plain());
  });
});

describe('whitespace', () => {
  it('spaced puts blanks around every colon and comma outside of strings, and keeps the values', async () => {
    const { text, records } = await firstPage(await runWithEvents({ whitespace: 'spaced' }));
    const outside = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
    expect(outside).not.toMatch(/[^ ][:,]|[:,][^ ]/);
    expect(text).toContain('"a: \\"b\\", c"');
    expect(records).toEqual(await plain());
  });
});

describe('an expired cursor', () => {
  it.each([
    ['code', '{"status":"fail","error":"Incorrect Usage","code":3}'],
    ['text', '{"status":"fail","error":"invalid cursor"}'],
    ['stringCode', '{"status":"fail","error":"Incorrect Usage","code":"3"}'],
  ] as const)('%s', async (expiredCursor, text) => {
    let now = Date.UTC(2024, 0, 1);
    const service = await run({ variants: { expiredCursor }, now: () => now });
    const cursor = await service.open('events', 'Charged', 20231115, 20231115);
    now += 5 * 3_600_000;
    expect(await service.page('events', cursor)).toMatchObject({ http: 200, text });
  });
});

describe('the echo in unprocessed', () => {
  const record = profileRecord('a', { City: 'Oslo', Email: 'no', Phone: '+4712345678' });

  it('intact repeats the record as written', async () => {
    const service = await run({ variants: { echo: 'intact' } });
    const sent = '{ "type":"profile", "identity":"\\u0061","profileData":{"Age":1.0e9} }';
    const { text } = await service.call('POST', '/1/upload', `{"d":[${sent}]}`);
    expect(text).toContain(`"record":${sent}}`);
  });

  it('changed has another member order and a phone number without its plus', async () => {
    const service = await run({ variants: { echo: 'changed' } });
    const { unprocessed, text } = await service.upload(record);
    expect(unprocessed?.[0]?.record).toEqual({
      identity: 'a',
      type: 'profile',
      profileData: { City: 'Oslo', Email: 'no', Phone: 4712345678 },
    });
    expect(text).toContain('"record":{"profileData":{"Phone":4712345678,');
  });
});

describe('connection', () => {
  it.each([
    ['keep', 'keep-alive'],
    ['close', 'close'],
  ] as const)('%s', async (connection, expected) => {
    const service = await run({ variants: { connection } });
    const answer = await fetch(`${service.url}/1/profile.json?identity=a`, { headers });
    expect(answer.headers.get('connection')).toBe(expected);
    expect(await answer.text()).toBe('{"status":"success"}');
  });
});

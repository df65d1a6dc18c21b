import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventRecord, profileRecord, run, type Running } from '../running.js';
import { runs } from '../../support/property-runs.js';

const phone = '+4712345678';
const email = 'shared@example.test';

async function flagsOf(service: Running, identity: string): Promise<Record<string, unknown>> {
  const { profileData = {} } = (await service.profile('identity', identity)) ?? {};
  return Object.fromEntries(Object.entries(profileData).filter(([key]) => key.startsWith('MSG-')));
}

describe('endpoint 2', () => {
  it.each([
    ['phone', phone, 'MSG-dndPhone'],
    ['WhatsApp', phone, 'MSG-dndWhatsApp'],
    ['email', email.toUpperCase(), 'MSG-dndEmail'],
  ])('%s blocks the address for all its users, and no other flag', async (type, value, flag) => {
    const service = await run();
    const addresses = { Phone: phone, Email: email };
    await service.upload(profileRecord('a', addresses), profileRecord('b', addresses));
    const before = await flagsOf(service, 'a');
    expect(await service.subscribe({ type, value, status: 'Unsubscribe' })).toMatchObject({
      status: 'success',
      processed: 1,
      unprocessed: [],
    });
    expect(await flagsOf(service, 'a')).toEqual({ ...before, [flag]: true });
    expect(await flagsOf(service, 'b')).toEqual({ ...before, [flag]: true });
    await service.subscribe({ type, value, status: 'Resubscribe' });
    expect(await flagsOf(service, 'a')).toEqual(before);
  });

  it('applies to users who get the address later', async () => {
    const service = await run();
    await service.subscribe({ type: 'email', value: email, status: 'Unsubscribe' });
    await service.upload(profileRecord('late', { Email: email }));
    expect(await flagsOf(service, 'late')).toEqual({ 'MSG-email': true, 'MSG-dndEmail': true });
  });

  it.each([
    [524, { type: 'fax', value: phone, status: 'Unsubscribe' }],
    [516, { type: 'phone', value: 'none', status: 'Unsubscribe' }],
    [515, { type: 'email', value: 'none', status: 'Unsubscribe' }],
    [512, { type: 'email', value: email, status: 'Pause' }],
    [524, 'text'],
  ])('rejects the record %j with code %i', async (code, record) => {
    const service = await run();
    const good = { type: 'phone', value: phone, status: 'Resubscribe' };
    const answer = await service.subscribe(good, record);
    expect(answer).toMatchObject({ http: 200, status: 'partial', processed: 1 });
    expect(answer.unprocessed).toMatchObject([{ code, record }]);
    expect(answer.unprocessed?.[0]?.error).toMatch(/Skipped record number : 2$/);
  });

  it('answers the same with dryRun=1, and changes nothing', async () => {
    const service = await run();
    await service.upload(profileRecord('a', { Email: email }));
    const d = [{ type: 'email', value: email, status: 'Unsubscribe' }, { type: 'fax' }];
    const dry = await service.call('POST', '/1/subscribe?dryRun=1', { d });
    expect((await flagsOf(service, 'a'))['MSG-dndEmail']).toBe(false);
    const wet = await service.call('POST', '/1/subscribe', { d });
    expect((await flagsOf(service, 'a'))['MSG-dndEmail']).toBe(true);
    expect(dry.text).toBe(wet.text);
  });
});

describe('flags in an upload', () => {
  it('opt out one user only, in both spellings', async () => {
    const service = await run();
    const upload = { Phone: phone, Email: email };
    await service.upload(
      profileRecord('a', {
        ...upload,
        'MSG-sms': false,
        'MSG-Whatsapp': false,
        'MSG-email': false,
      }),
      profileRecord('b', upload),
    );
    const on = { 'MSG-dndPhone': false, 'MSG-dndWhatsApp': false, 'MSG-dndEmail': false };
    const user = { 'MSG-sms': false, 'MSG-whatsapp': false, 'MSG-email': false };
    expect(await flagsOf(service, 'a')).toEqual({ ...user, ...on });
    expect(await flagsOf(service, 'b')).toMatchObject({ 'MSG-sms': true, 'MSG-email': true });
  });

  it('do not change the address level, and must not be text', async () => {
    const service = await run();
    await service.upload(
      profileRecord('a', { Email: email, 'MSG-dndEmail': true, 'MSG-email': 'false' }),
    );
    expect(await flagsOf(service, 'a')).toEqual({ 'MSG-email': true, 'MSG-dndEmail': false });
  });
});

describe('Channel Unsubscribed', () => {
  it.each([
    ['email', email, 'MSG-dndEmail'],
    ['SMS', phone, 'MSG-dndPhone'],
    ['whatsapp', phone, 'MSG-dndWhatsApp'],
  ])('of %s applies to the address it names, not to the user', async (channel, address, flag) => {
    const service = await run();
    const addresses = { Phone: phone, Email: email };
    await service.upload(profileRecord('a', addresses), profileRecord('b', addresses));
    await service.upload(
      eventRecord('a', 'Channel Unsubscribed', 1_600_000_000, {
        Channel: channel,
        Address: address,
      }),
    );
    for (const identity of ['a', 'b']) {
      expect(await flagsOf(service, identity)).toMatchObject({
        [flag]: true,
        'MSG-email': true,
        'MSG-sms': true,
      });
    }
    expect((await service.profile('identity', 'a'))?.events).toHaveProperty('Channel Unsubscribed');
  });

  it('without an address of the channel changes nothing', async () => {
    const service = await run();
    await service.upload(profileRecord('a', { Email: email }));
    await service.upload(
      eventRecord('a', 'Channel Unsubscribed', 1_600_000_000, { Channel: 'email', Address: phone }),
    );
    expect((await flagsOf(service, 'a'))['MSG-dndEmail']).toBe(false);
  });
});

/** Two users who share both addresses; the model keeps address flags once and user flags per user. */
interface Model {
  readonly blocked: Record<string, boolean>;
  readonly users: Record<string, Record<string, boolean>>;
}
type Step = (service: Running, model: Model) => Promise<unknown>;

const channels = [
  { type: 'phone', value: phone, address: 'MSG-dndPhone', user: 'MSG-sms' },
  { type: 'whatsapp', value: phone, address: 'MSG-dndWhatsApp', user: 'MSG-whatsapp' },
  { type: 'email', value: email, address: 'MSG-dndEmail', user: 'MSG-email' },
] as const;
const anyChannel = fc.constantFrom(...channels);
const anyUser = fc.constantFrom('a', 'b');

const anySubscription = fc
  .record({ channel: anyChannel, blocked: fc.boolean(), dry: fc.boolean() })
  .map(({ channel, blocked, dry }): Step => async (service, model) => {
    const status = blocked ? 'Unsubscribe' : 'Resubscribe';
    const record = { type: channel.type, value: channel.value, status };
    await service.call('POST', `/1/subscribe${dry ? '?dryRun=1' : ''}`, { d: [record] });
    if (!dry) model.blocked[channel.address] = blocked;
  });
const anyFlag = fc
  .record({ channel: anyChannel, user: anyUser, value: fc.boolean() })
  .map(({ channel, user, value }): Step => async (service, model) => {
    await service.upload(profileRecord(user, { [channel.user]: value }));
    (model.users[user] ??= {})[channel.user] = value;
  });
const anyEvent = fc
  .record({ channel: anyChannel, user: anyUser })
  .map(({ channel, user }): Step => async (service, model) => {
    const properties = { Channel: channel.type, Address: channel.value };
    await service.upload(eventRecord(user, 'Channel Unsubscribed', 1_600_000_000, properties));
    model.blocked[channel.address] = true;
  });

it('matches a simple model of both levels, whatever the order of triggers', async () => {
  const steps = fc.array(fc.oneof(anySubscription, anyFlag, anyEvent), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const service = await run();
      const addresses = { Phone: phone, Email: email };
      await service.upload(profileRecord('a', addresses), profileRecord('b', addresses));
      const allOn = Object.fromEntries(channels.map(({ user }) => [user, true]));
      const model: Model = {
        blocked: Object.fromEntries(channels.map(({ address }) => [address, false])),
        users: { a: { ...allOn }, b: { ...allOn } },
      };
      for (const step of steps) await step(service, model);
      for (const user of ['a', 'b']) {
        expect(await flagsOf(service, user)).toEqual({ ...model.users[user], ...model.blocked });
      }
      await service.close();
    }),
    { numRuns: runs(40) },
  );
});

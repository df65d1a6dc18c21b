import {
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  oneof,
  option,
  record,
  type Arbitrary,
} from 'fast-check';
import { expect, it } from 'vitest';
import { eventRecord, run, type ProfileObject, type Running } from '../running.js';
import { UserModel, valuesOf, type Keys, type User } from './user-model.js';
import { runs } from '../../support/property-runs.js';

const long = 'x'.repeat(1000);
/** Each pair has one FNV-1a hash of 32 bits; the last four begin alike, or are other keys in other words. */
// prettier-ignore
const identities = [
  'costarring', 'liquid', 'declinate', 'macallums', 'u757813607', 'u510453264',
  'ßüöñ漢ñéß', '🎉字ü字éß漢ö', `${long}6fc413e8`, `${long}71e42f78`,
  'nul', 'nul\0', 'FBID:f', 'liquid@e.test',
];
const objectIds = ['liquid', 'costarring', 'dev', 'Dev'];
const emails = ['liquid@e.test', 'LIQUID@e.test', 'a@e.test'];
const bought = 'Buy\0';
const searched = ['l', 'LI', 'liquid', 'u5', 'ß', '🎉', long, 'nul\0', 'd', 'D', 'F', 'z'];

const missing = { nil: undefined };
const keys = record({
  identity: option(constantFrom(...identities), missing),
  objectId: option(constantFrom(...objectIds), { ...missing, freq: 2 }),
  FBID: option(constant('f'), { ...missing, freq: 2 }),
  GPID: option(constant('f'), { ...missing, freq: 2 }),
})
  .map((some) => JSON.parse(JSON.stringify(some)) as Keys)
  .filter((some) => Object.keys(some).length > 0);
const fields = record(
  { n: integer({ min: 0, max: 9 }), m: constantFrom('', 'a'), Email: constantFrom(...emails) },
  { requiredKeys: [] },
);
const ts = integer({ min: 1, max: 1000 });
const uploads = array(
  oneof(
    record({ type: constant('profile' as const), keys, fields, ts: option(ts, missing) }),
    record({ type: constant('event' as const), keys, ts }),
  ),
  { minLength: 1, maxLength: 5 },
);
const steps = array(
  oneof(
    { weight: 9, arbitrary: uploads },
    { weight: 3, arbitrary: record({ demerge: array(constantFrom(...identities)) }) },
    { weight: 1, arbitrary: constantFrom('save' as const, 'restore' as const, 'reset' as const) },
  ),
  { maxLength: 12 },
);
type Step = typeof steps extends Arbitrary<(infer One)[]> ? One : never;

/** Does the same with the service and with the model. */
class Both {
  readonly #service: Running;
  readonly model = new UserModel();
  #saved: User[] = [];

  constructor(service: Running) {
    this.#service = service;
  }

  async take(step: Step): Promise<void> {
    if (step === 'save') {
      this.#saved = structuredClone(this.model.users);
      await this.#service.call('PUT', '/_local/snapshots/saved');
    } else if (step === 'restore') {
      this.model.users = structuredClone(this.#saved);
      await this.#service.call('POST', '/_local/snapshots/saved/restore');
    } else if (step === 'reset') {
      this.model.users = [];
      await this.#service.call('POST', '/_local/reset');
    } else if ('demerge' in step) {
      for (const identity of step.demerge) this.model.demerge(identity);
      await this.#service.call('POST', '/1/demerge/profiles.json', { identities: step.demerge });
    } else {
      for (const one of step) {
        if (one.type === 'profile') this.model.setFields(one.keys, one.fields, one.ts);
        else this.model.perform(one.keys, one.ts);
      }
      const records = step.map((one) =>
        one.type === 'profile'
          ? { ...one.keys, type: 'profile', profileData: one.fields, ts: one.ts }
          : { ...eventRecord('', bought, one.ts), identity: undefined, ...one.keys },
      );
      expect(await this.#service.upload(...records)).toMatchObject({ processed: step.length });
    }
  }
}

/** What answers show of a user. */
const shown = (user: User) => ({
  identities: valuesOf(user, 'identity'),
  objectIds: valuesOf(user, 'objectId'),
  fields: user.fields,
  events:
    user.events.length === 0
      ? undefined
      : {
          count: user.events.length,
          first_seen: Math.min(...user.events),
          last_seen: Math.max(...user.events),
        },
});

function asShown(profile: ProfileObject): ReturnType<typeof shown> {
  const { email, profileData = {}, all_identities, platformInfo, events = {} } = profile;
  const own = Object.entries(profileData).filter(([key]) => !key.startsWith('MSG-'));
  return {
    identities: all_identities,
    objectIds: platformInfo.map(({ objectId = '' }) => objectId),
    fields: { ...Object.fromEntries(own), ...(email === undefined ? {} : { Email: email }) },
    events: events[bought],
  };
}

async function list(service: Running, q: string): Promise<ReturnType<typeof shown>[]> {
  const { text } = await service.call(
    'GET',
    `/_local/profiles?limit=500&q=${encodeURIComponent(q)}`,
  );
  return (JSON.parse(text) as { profiles: ProfileObject[] }).profiles.map(asShown);
}

/** All events, as texts of their users' first keys and their times. */
async function listEvents(service: Running): Promise<string[]> {
  const { text } = await service.call('GET', '/_local/events?limit=1000');
  const { events } = JSON.parse(text) as { events: Record<string, unknown>[] };
  return events
    .map(({ event, identity, objectId, ts }) => JSON.stringify([event, identity, objectId, ts]))
    .toSorted();
}

const eventsOf = (users: readonly User[]): string[] =>
  users
    .flatMap((user) =>
      user.events.map((ts) => [bought, firstOf(user, 'identity'), firstOf(user, 'objectId'), ts]),
    )
    .map((event) => JSON.stringify(event))
    .toSorted();
const firstOf = (user: User, kind: 'identity' | 'objectId') => valuesOf(user, kind)[0] ?? null;

const isFoundBy = (q: string) => (user: User) =>
  [...valuesOf(user, 'identity'), ...valuesOf(user, 'objectId')].some((v) => v.startsWith(q)) ||
  emailOf(user).startsWith(q.toLowerCase());
const emailOf = ({ fields }: User): string => String(fields['Email'] ?? '\n').toLowerCase();

it('matches a simple model of users under uploads, demerges, searches and restores', async () => {
  const service = await run();
  await assert(
    asyncProperty(steps, async (taken) => {
      await service.call('POST', '/_local/reset');
      await service.call('PUT', '/_local/snapshots/saved');
      const both = new Both(service);
      for (const step of taken) await both.take(step);

      const { model } = both;
      expect(await list(service, '')).toEqual(model.users.map(shown));
      expect(await listEvents(service)).toEqual(eventsOf(model.users));
      for (const q of searched)
        expect(await list(service, q)).toEqual(model.users.filter(isFoundBy(q)).map(shown));
      const lookUp = async (by: 'identity' | 'objectId' | 'email', value: string, user?: User) => {
        const found = await service.profile(by, value);
        expect(found && asShown(found)).toEqual(user && shown(user));
      };
      for (const value of identities)
        await lookUp('identity', value, model.find('identity', value));
      for (const value of objectIds) await lookUp('objectId', value, model.find('objectId', value));
      for (const value of emails)
        await lookUp(
          'email',
          value,
          model.users.find((user) => emailOf(user) === value.toLowerCase()),
        );
    }),
    { numRuns: runs(25) },
  );
});

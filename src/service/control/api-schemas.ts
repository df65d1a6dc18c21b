import { z } from 'zod';
import {
  cursorAnswer,
  demergeAnswer,
  failAnswer,
  writeAnswer,
} from '../../contract/response-schemas.js';
import { limits, objectIdPattern } from '../../contract/limits.js';

/** The shapes of requests and answers as zod schemas; a test holds them against what the service does. */

const keys = {
  identity: z.string().min(1).max(limits.identityLength).optional(),
  objectId: z.string().regex(objectIdPattern).optional(),
  FBID: z.string().min(1).optional(),
  GPID: z.string().min(1).optional(),
  ts: z.int().min(1).max(99_999_999_999).optional().describe('epoch seconds'),
};
const profileUpload = z.looseObject({
  type: z.literal('profile'),
  ...keys,
  profileData: z
    .record(z.string(), z.unknown())
    .describe('fields, and operators such as {"$add":["x"]} on custom ones'),
});
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const eventUpload = z.looseObject({
  type: z.literal('event'),
  ...keys,
  evtName: z.string().min(1),
  evtData: z
    .record(z.string(), z.union([scalar, z.array(z.record(z.string(), scalar))]))
    .optional()
    .describe('flat; Items of Charged is a list of flat objects'),
});
/** In any case: the service does not mind. */
const word = (...words: string[]) =>
  z.string().regex(new RegExp(`^(${words.map(anyCase).join('|')})$`));
const anyCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);
const subscription = z.looseObject({
  type: word('phone', 'whatsapp', 'email'),
  value: z.string().min(1),
  status: word('Unsubscribe', 'Resubscribe'),
});
const day = z
  .int()
  .min(1_01_01)
  .max(9999_12_31)
  .describe('YYYYMMDD, in the time zone of the account');

const summary = z.object({ count: z.int(), first_seen: z.int(), last_seen: z.int() });
const platform = z.looseObject({
  objectId: z.string().optional(),
  platform: z.string().optional(),
});
const userProfile = z.looseObject({
  identity: z.string().optional(),
  email: z.string().optional(),
  name: z.unknown().optional(),
  phone: z.string().optional(),
  profileData: z.record(z.string(), z.unknown()).optional(),
  all_identities: z.array(z.string()),
  events: z.record(z.string(), summary).optional(),
  platformInfo: z.array(platform),
});
const eventRead = z.looseObject({
  profile: z.looseObject({ id: z.int() }),
  events: z.record(z.string(), summary).optional(),
  ts: z.int().describe('yyyyMMddHHmmSS, in the time zone of the account'),
  event_props: z.record(z.string(), z.unknown()),
  session_props: z.record(z.string(), z.unknown()),
});
const page = (record: z.ZodType) =>
  z.looseObject({
    status: z.literal('success'),
    records: z.array(record).optional(),
    next_cursor: z.string().optional(),
  });

export const requestSchemas = {
  upload: z.looseObject({
    d: z.array(z.union([profileUpload, eventUpload])).max(limits.recordsPerUpload),
  }),
  subscribe: z.looseObject({ d: z.array(subscription).max(limits.recordsPerSubscribe) }),
  export: z.strictObject({ event_name: z.string().min(1), from: day, to: day }),
  demerge: z.looseObject({
    identities: z.array(z.string()).max(limits.identitiesPerDemerge).optional(),
  }),
} as const;

export const answerSchemas = {
  write: writeAnswer,
  cursor: cursorAnswer,
  demerge: demergeAnswer,
  profile: z.looseObject({ status: z.literal('success'), record: userProfile.optional() }),
  profiles: page(userProfile),
  events: page(eventRead),
  fail: failAnswer,
} as const;

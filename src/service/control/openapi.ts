import { z } from 'zod';
import { headerNames, endpointNames, pathOf, type EndpointName } from '../../contract/endpoints.js';
import { limits, objectIdPattern } from '../../contract/limits.js';
import { parametersOf } from '../rest/read-request.js';
import {
  cursorResponse,
  demergeResponse,
  failResponse,
  writeResponse,
} from '../../contract/response-schemas.js';

interface Operation {
  readonly summary: string;
  /** Schema of the body; undefined for a GET. */
  readonly request?: keyof typeof requestSchemas;
  readonly answer: keyof typeof answerSchemas;
}

/** The endpoints, in the order of the specification. */
const operations: Readonly<Record<EndpointName, Operation>> = {
  upload: { summary: 'Upload user profiles and events', request: 'upload', answer: 'write' },
  subscribe: { summary: 'Set subscription status', request: 'subscribe', answer: 'write' },
  'profiles-cursor': {
    summary: 'Get a cursor for the profiles of users who did an event',
    request: 'export',
    answer: 'cursor',
  },
  profiles: { summary: 'Get user profiles using a cursor', answer: 'profiles' },
  profile: { summary: 'Get a user profile by exactly one identifier', answer: 'profile' },
  'events-cursor': { summary: 'Get a cursor for events', request: 'export', answer: 'cursor' },
  events: { summary: 'Get events using a cursor', answer: 'events' },
  demerge: { summary: 'Demerge user profiles', request: 'demerge', answer: 'demerge' },
};

const parameterSchemas: Readonly<Record<string, z.ZodType>> = {
  dryRun: z.enum(['0', '1']),
  batch_size: z.int().min(0).max(limits.batchSizeMaximum),
  app: z.boolean(),
  events: z.boolean(),
  profile: z.boolean(),
};

/** Generates the OpenAPI 3.1 document of the eight endpoints from the schemas and the supported parameters. */
export function openApiDocument(url: string, headerPrefix: string) {
  const { accountId, passcode } = headerNames(headerPrefix);
  const byPath: Record<string, Record<string, object>> = {};
  for (const name of endpointNames) {
    const operation = operations[name];
    const method = operation.request ? 'post' : 'get';
    (byPath[pathOf(name)] ??= {})[method] = operationObject(name, operation);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Profile, Event and Subscription REST API',
      version: '1',
      description: 'As implemented by the local service of engagectl.',
    },
    servers: [{ url }],
    security: [{ accountId: [], passcode: [] }],
    paths: byPath,
    components: {
      securitySchemes: {
        accountId: { type: 'apiKey', in: 'header', name: accountId },
        passcode: { type: 'apiKey', in: 'header', name: passcode },
      },
    },
  };
}

function operationObject(name: EndpointName, { summary, request, answer }: Operation): object {
  return {
    operationId: name,
    summary,
    parameters: parametersOf(name)
      // Undocumented alternative of some clients: the body as a parameter of a GET.
      .filter(
        (parameter) =>
          parameter !== 'query' && (request !== undefined || !(parameter in parameterSchemas)),
      )
      .map((parameter) => ({
        name: parameter,
        in: 'query',
        required: parameter === 'cursor',
        schema: jsonSchema(parameterSchemas[parameter] ?? z.string()),
      })),
    ...(request === undefined
      ? {}
      : { requestBody: { required: true, content: json(requestSchemas[request]) } }),
    responses: {
      200: {
        description:
          'Success, or an error: a body with status fail counts as the HTTP status of its code',
        content: json(z.union([answerSchemas[answer], answerSchemas.fail])),
      },
      default: { description: 'The whole request is rejected', content: json(answerSchemas.fail) },
    },
  };
}

const json = (schema: z.ZodType) => ({ 'application/json': { schema: jsonSchema(schema) } });

/** Converts to JSON Schema without `$schema`, which OpenAPI 3.1 implies. */
function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest;
}

// Schemas of requests and responses. A test compares them with what the service does.

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
/** Schema of a word in any case. */
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

const requestSchemas = {
  upload: z.looseObject({
    d: z.array(z.union([profileUpload, eventUpload])).max(limits.recordsPerUpload),
  }),
  subscribe: z.looseObject({ d: z.array(subscription).max(limits.recordsPerSubscribe) }),
  export: z.strictObject({ event_name: z.string().min(1), from: day, to: day }),
  demerge: z.looseObject({
    identities: z.array(z.string()).max(limits.identitiesPerDemerge).optional(),
  }),
} as const;

const answerSchemas = {
  write: writeResponse,
  cursor: cursorResponse,
  demerge: demergeResponse,
  profile: z.looseObject({ status: z.literal('success'), record: userProfile.optional() }),
  profiles: page(userProfile),
  events: page(eventRead),
  fail: failResponse,
} as const;

import { z } from 'zod';
import { headerNames, endpointNames, pathOf, type EndpointName } from '../../contract/endpoints.js';
import { limits, objectIdPattern } from '../../contract/limits.js';
import { parametersOf } from '../rest/read-request.js';

interface Operation {
  readonly summary: string;
  /** Schema of the body; undefined for a GET. */
  readonly request?: RequestName;
  /** Schemas of the answers with HTTP status 200, by their `status`. */
  readonly answers: Readonly<Record<string, SchemaName>>;
  readonly example: object;
  readonly requestExample?: object;
}

const writeAnswers = {
  success: 'WriteSuccess',
  partial: 'WritePartial',
  fail: 'WriteFailure',
} as const;
const exportRequest = { event_name: 'Charged', from: 20260101, to: 20260131 };
const cursorExample = {
  status: 'success',
  cursor: 'AfljfgIJBgBnamF5Kz8NegcBAwxhbCe%2Fbmhhe04BBAVlYjT4YG5reQ',
};
const summaries = { Charged: { count: 1, first_seen: 1767262500, last_seen: 1767262500 } };
const profileExample = {
  identity: 'ann',
  email: 'ann@example.com',
  profileData: { City: 'Oslo' },
  all_identities: ['ann'],
  events: summaries,
  platformInfo: [{ platform: 'iOS', objectId: 'device-1', os_version: '17.4', make: 'Apple' }],
};

/** The endpoints, in the order of the specification. */
const operations: Readonly<Record<EndpointName, Operation>> = {
  upload: {
    summary: 'Upload user profiles and events',
    request: 'UploadRequest',
    requestExample: {
      d: [
        { type: 'profile', identity: 'ann', profileData: { Name: 'Ann', City: 'Oslo' } },
        {
          type: 'event',
          identity: 'ann',
          evtName: 'Charged',
          evtData: { Amount: 15 },
          ts: 1767262500,
        },
      ],
    },
    answers: writeAnswers,
    example: { status: 'success', processed: 2, unprocessed: [] },
  },
  subscribe: {
    summary: 'Set subscription status',
    request: 'SubscribeRequest',
    requestExample: { d: [{ type: 'email', value: 'ann@example.com', status: 'Unsubscribe' }] },
    answers: writeAnswers,
    example: { status: 'success', processed: 1, unprocessed: [] },
  },
  'profiles-cursor': {
    summary: 'Get a cursor for the profiles of users who did an event',
    request: 'ExportRequest',
    requestExample: exportRequest,
    answers: { success: 'CursorAnswer', fail: 'Failure' },
    example: cursorExample,
  },
  profiles: {
    summary: 'Get user profiles using a cursor',
    answers: { success: 'ProfilesPage', fail: 'Failure' },
    example: { status: 'success', records: [profileExample] },
  },
  profile: {
    summary: 'Get a user profile by exactly one identifier',
    answers: { success: 'ProfileAnswer', fail: 'Failure' },
    example: { status: 'success', record: profileExample },
  },
  'events-cursor': {
    summary: 'Get a cursor for events',
    request: 'ExportRequest',
    requestExample: exportRequest,
    answers: { success: 'CursorAnswer', fail: 'Failure' },
    example: cursorExample,
  },
  events: {
    summary: 'Get events using a cursor',
    answers: { success: 'EventsPage', fail: 'Failure' },
    example: {
      status: 'success',
      records: [
        {
          profile: {
            id: 1,
            identity: 'ann',
            objectId: 'device-1',
            platform: 'iOS',
            profileData: { City: 'Oslo' },
          },
          events: summaries,
          ts: 20260101101500,
          event_props: { Amount: 15 },
          session_props: { session_source: 'Direct' },
        },
      ],
    },
  },
  demerge: {
    summary: 'Demerge user profiles',
    request: 'DemergeRequest',
    requestExample: { identities: ['ann'] },
    answers: { success: 'DemergeAnswer', fail: 'Failure' },
    example: { status: 'success' },
  },
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
      schemas: componentSchemas(),
      securitySchemes: {
        accountId: { type: 'apiKey', in: 'header', name: accountId },
        passcode: { type: 'apiKey', in: 'header', name: passcode },
      },
    },
  };
}

function operationObject(
  name: EndpointName,
  { summary, request, requestExample, answers, example }: Operation,
): object {
  const parameters = parametersOf(name)
    // Undocumented alternative of some clients: the body as a parameter of a GET.
    .filter(
      (parameter) =>
        parameter !== 'query' && (request !== undefined || !(parameter in parameterSchemas)),
    )
    .map((parameter) => ({
      name: parameter,
      in: 'query',
      required: parameter === 'cursor',
      ...(parameter === 'cursor' ? { description: cursorEncoding, allowReserved: true } : {}),
      schema: jsonSchema(parameterSchemas[parameter] ?? z.string()),
    }));
  return {
    operationId: name,
    summary,
    parameters,
    ...(request === undefined
      ? {}
      : { requestBody: { required: true, content: json(refTo(request), requestExample) } }),
    responses: {
      200: {
        description:
          'Success, or an error: a body with status fail counts as the HTTP status of its code',
        content: json(answerSchema(answers), example),
      },
      default: {
        description: 'The whole request is rejected',
        content: json(refTo('Failure'), {
          status: 'fail',
          error: 'Invalid Credentials',
          code: 401,
        }),
      },
    },
  };
}

const cursorEncoding =
  'The cursor as received: it is percent-encoded already. A client that encodes parameters must not encode it again, or decode it first; a cursor that is encoded twice is answered with code 3.';

const json = (schema: object, example: unknown) => ({ 'application/json': { schema, example } });
const uriOf = (name: string) => `#/components/schemas/${name}`;
const refTo = (name: SchemaName) => ({ $ref: uriOf(name) });

/** Returns the alternatives of an answer, distinguished by `status`. */
function answerSchema(answers: Operation['answers']): object {
  const refs = Object.entries(answers).map(([status, name]) => [status, refTo(name)] as const);
  const mapping = Object.fromEntries(refs.map(([status, { $ref }]) => [status, $ref]));
  return {
    oneOf: refs.map(([, ref]) => ref),
    discriminator: { propertyName: 'status', mapping },
  };
}

/** Converts to JSON Schema without `$schema`, which OpenAPI 3.1 implies. */
function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest;
}

/** Converts the named schemas, which refer to each other. */
function componentSchemas(): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const converted = z.toJSONSchema(registry, { uri: uriOf }).schemas;
  return Object.fromEntries(
    Object.entries(converted).map(([id, { $schema: _, $id: __, ...rest }]) => [id, rest]),
  );
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

const eventSummary = z.object({
  count: z.int(),
  first_seen: z.int().describe('epoch seconds'),
  last_seen: z.int().describe('epoch seconds'),
});
const text = z.string().optional();
const device = z.looseObject({
  platform: text,
  objectId: text,
  os_version: text,
  app_version: text,
  make: text,
  model: text,
  push_token: text,
  phone: text,
  df: z.record(z.string(), z.unknown()).optional(),
});
const profileData = z.record(z.string(), z.unknown());
const userProfile = z.looseObject({
  identity: text,
  email: text,
  name: z.unknown().optional(),
  phone: text,
  profileData: profileData.optional(),
  all_identities: z.array(z.string()),
  events: z.record(z.string(), eventSummary).optional(),
  platformInfo: z.array(device),
});
const eventRecord = z.looseObject({
  profile: z.looseObject({
    id: z.int(),
    identity: text,
    objectId: text,
    platform: text,
    email: text,
    profileData: profileData.optional(),
  }),
  events: z.record(z.string(), eventSummary).optional(),
  ts: z.int().describe('yyyyMMddHHmmSS, in the time zone of the account'),
  event_props: z.record(z.string(), z.unknown()),
  session_props: z.looseObject({
    utm_source: text,
    utm_medium: text,
    utm_campaign: text,
    session_source: text,
    session_referrer: text,
  }),
});
const nextCursor = z.string().optional().describe(`Missing on the last page. ${cursorEncoding}`);
const page = (record: z.ZodType) =>
  z.looseObject({
    status: z.literal('success'),
    records: z.array(record).optional().describe('missing if there is none'),
    next_cursor: nextCursor,
  });
const unprocessed = z.looseObject({
  status: z.literal('fail'),
  code: z.int(),
  error: z.string(),
  record: z.unknown().describe('the record as received'),
});
const failure = z.looseObject({
  status: z.literal('fail'),
  error: z.string(),
  code: z
    .union([z.int(), z.string()])
    .optional()
    .describe(
      'counts as the HTTP status; 2: not ready, retry with the same cursor; 3: expired or wrong cursor',
    ),
});

const schemas = {
  ProfileUpload: profileUpload,
  EventUpload: eventUpload,
  Subscription: subscription,
  EventSummary: eventSummary,
  Device: device,
  UserProfile: userProfile,
  EventRecord: eventRecord,
  UnprocessedRecord: unprocessed,
  UploadRequest: z.looseObject({
    d: z.array(z.union([profileUpload, eventUpload])).max(limits.recordsPerUpload),
  }),
  SubscribeRequest: z.looseObject({ d: z.array(subscription).max(limits.recordsPerSubscribe) }),
  ExportRequest: z.strictObject({ event_name: z.string().min(1), from: day, to: day }),
  DemergeRequest: z.looseObject({
    identities: z.array(z.string()).max(limits.identitiesPerDemerge).optional(),
  }),
  WriteSuccess: writeAnswer('success'),
  WritePartial: writeAnswer('partial'),
  WriteFailure: z
    .looseObject({
      ...failure.partial().shape,
      status: z.literal('fail'),
      processed: z.int().min(0).optional(),
      unprocessed: z.array(unprocessed).optional(),
    })
    .describe(
      'every record is rejected, with unprocessed; or the whole request, with error and code',
    ),
  CursorAnswer: z.looseObject({
    status: z.literal('success'),
    cursor: z.string().min(1).describe(cursorEncoding),
  }),
  ProfileAnswer: z.looseObject({
    status: z.literal('success'),
    record: userProfile.optional().describe('missing if there is no such user'),
  }),
  ProfilesPage: page(userProfile),
  EventsPage: page(eventRecord),
  DemergeAnswer: z.looseObject({ status: z.literal('success') }),
  Failure: failure,
} as const;

type SchemaName = keyof typeof schemas;
type RequestName = Extract<SchemaName, `${string}Request`>;

function writeAnswer(status: 'success' | 'partial') {
  return z.looseObject({
    status: z.literal(status),
    processed: z.int().min(0),
    unprocessed: z.array(unprocessed),
  });
}

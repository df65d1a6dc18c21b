import { z } from 'zod';
import { headerNames } from '../../contract/endpoints.js';
import { limits } from '../../contract/limits.js';
import { endpointNames, pathOf, type EndpointName } from '../endpoints.js';
import { playedParameters } from '../rest/played-query.js';
import { answerSchemas, requestSchemas } from './api-schemas.js';

interface Operation {
  readonly summary: string;
  /** Undefined: it has no body, and is a GET. */
  readonly request?: keyof typeof requestSchemas;
  readonly answer: keyof typeof answerSchemas;
}

/** The endpoints of the specification, in its order. */
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

/** The OpenAPI 3.1 document of the eight endpoints, made of the schemas and of the parameters that are played. */
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
      description: 'As the local service of engagectl plays it.',
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
    parameters: playedParameters[name]
      // Some clients open an export by GET, with the body as a parameter.
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
          'Done, or refused: a body with status fail counts as the HTTP status that its code says',
        content: json(z.union([answerSchemas[answer], answerSchemas.fail])),
      },
      default: { description: 'Refused as a whole', content: json(answerSchemas.fail) },
    },
  };
}

const json = (schema: z.ZodType) => ({ 'application/json': { schema: jsonSchema(schema) } });

/** OpenAPI 3.1 takes JSON Schema as it is; the dialect is named once for all. */
function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest;
}

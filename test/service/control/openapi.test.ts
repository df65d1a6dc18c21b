import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { endpointNames } from '../../../src/contract/endpoints.js';
import { eventRecord, headers, profileRecord, run, type Running } from '../running.js';

interface Operation {
  readonly operationId: string;
  readonly parameters: { name: string; schema: object }[];
  readonly requestBody?: { content: { 'application/json': { schema: object } } };
  readonly responses: Record<string, { content: { 'application/json': { schema: object } } }>;
}
interface OpenApi {
  readonly openapi: string;
  readonly servers: { url: string }[];
  readonly security: Record<string, string[]>[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    schemas: Record<string, object>;
    securitySchemes: Record<string, { in: string; name: string }>;
  };
}

/** The document, its operations, and validators of their bodies. */
async function documented(service: Running) {
  const answer = await fetch(`${service.url}/_local/openapi.json`, { headers });
  const document = (await answer.json()) as OpenApi;
  const ajv = new Ajv2020({ strict: true, strictTypes: false });
  ajv.addVocabulary(['components', 'discriminator']);
  const { components } = document;
  const compile = (schema: object): ValidateFunction => ajv.compile({ ...schema, components });
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const of = (name: string) => operations.find(({ operationId }) => operationId === name)!;
  const request = (name: string): ValidateFunction =>
    compile(of(name).requestBody!.content['application/json'].schema);
  const response = (name: string): ValidateFunction =>
    compile(of(name).responses['200']!.content['application/json'].schema);
  return { document, operations, of, request, response, compile };
}

it('describes the eight endpoints in valid JSON Schema', async () => {
  const service = await run({ headerPrefixes: ['X-Service', 'X-Acme'] });
  const { document, operations, compile } = await documented(service);
  expect(document.openapi).toBe('3.1.0');
  expect(document.servers).toEqual([{ url: service.url }]);
  expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(
    endpointNames.toSorted(),
  );
  for (const { parameters, requestBody, responses } of operations) {
    for (const { schema } of parameters) compile(schema);
    for (const { content } of [...Object.values(responses), ...(requestBody ? [requestBody] : [])])
      compile(content['application/json'].schema);
  }
  const names = document.security.flatMap((one) => Object.keys(one));
  const schemes = names.map((name) => document.components.securitySchemes[name]);
  expect(schemes).toMatchObject([
    { in: 'header', name: 'X-Service-Account-Id' },
    { in: 'header', name: 'X-Service-Passcode' },
  ]);
});

it('is a document of OpenAPI 3.1', async () => {
  const { document } = await documented(await run());
  // As https://spec.openapis.org/oas/3.1/schema/2026-08-03 has it.
  const file = new URL('openapi-3.1.schema.json', import.meta.url);
  const schema = JSON.parse(readFileSync(file, 'utf8')) as object;
  const isOpenApi = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  expect([isOpenApi(document), isOpenApi.errors]).toEqual([true, null]);
  const [path = ''] = Object.keys(document.paths);
  const spoiled = { ...document, paths: { [path]: { get: { responses: { ok: {} } } } } };
  expect(isOpenApi(spoiled)).toBe(false);
});

const day = 1_700_000_000;

it.each<[name: string, record: unknown]>([
  ['upload', profileRecord('a')],
  ['upload', { ...profileRecord('a', { k: { $add: ['x'] }, n: 1 }), ts: day }],
  ['upload', { type: 'profile', objectId: 'dev-1', profileData: {} }],
  ['upload', { type: 'profile', objectId: 'dev 1', profileData: {} }],
  ['upload', { ...profileRecord('a'), ts: 0 }],
  ['upload', { ...profileRecord('a'), ts: 1_700_000_000_000 }],
  ['upload', { ...profileRecord('a'), ts: String(day) }],
  ['upload', profileRecord('')],
  ['upload', profileRecord('😀'.repeat(1024))],
  ['upload', profileRecord('x'.repeat(1025))],
  ['upload', { type: 'profile', identity: 'a' }],
  ['upload', { type: 'device', identity: 'a', profileData: {} }],
  ['upload', eventRecord('a', 'Buy', day, { n: 1, t: 'x', b: true })],
  ['upload', eventRecord('a', 'Charged', day, { Items: [{ n: 1 }] })],
  ['upload', eventRecord('a', 'Buy', day, { nested: { n: 1 } })],
  ['upload', eventRecord('a', '', day)],
  ['subscribe', { type: 'email', value: 'a@b.cd', status: 'Unsubscribe' }],
  ['subscribe', { type: 'WhatsApp', value: '+4712345678', status: 'RESUBSCRIBE' }],
  ['subscribe', { type: 'fax', value: '+4712345678', status: 'Unsubscribe' }],
  ['subscribe', { type: 'email', value: 'a@b.cd', status: 'Stop' }],
  ['subscribe', { type: 'email', status: 'Unsubscribe' }],
])('validates a record exactly if the service accepts it: %s %j', async (name, record) => {
  const service = await run();
  const { request } = await documented(service);
  const answer = await service.call('POST', `/1/${name}`, { d: [record] });
  expect(request(name)({ d: [record] })).toBe(answer.processed === 1);
});

it.each<[name: string, path: string, body: unknown]>([
  ['upload', '/1/upload', { d: {} }],
  ['upload', '/1/upload', {}],
  ['upload', '/1/upload', { d: Array.from({ length: 1001 }, () => profileRecord('a')) }],
  ['events-cursor', '/1/events.json', { event_name: 'Charged', from: 20231101, to: 20231102 }],
  ['events-cursor', '/1/events.json', { event_name: 'Charged', from: '20231101', to: 20231102 }],
  ['events-cursor', '/1/events.json', { event_name: 'Charged', from: 20231101 }],
  [
    'events-cursor',
    '/1/events.json',
    { event_name: 'Charged', from: 20231101, to: 20231102, groups: [] },
  ],
  ['profiles-cursor', '/1/profiles.json', { event_name: '', from: 20231101, to: 20231102 }],
  ['demerge', '/1/demerge/profiles.json', { identities: ['a'] }],
  ['demerge', '/1/demerge/profiles.json', {}],
  ['demerge', '/1/demerge/profiles.json', { identities: [7] }],
  ['demerge', '/1/demerge/profiles.json', { identities: Array.from({ length: 101 }, String) }],
])('validates a body exactly if the service accepts it: %s', async (name, path, body) => {
  const service = await run();
  const { request } = await documented(service);
  expect(request(name)(body)).toBe((await service.call('POST', path, body)).http === 200);
});

it('matches every answer', async () => {
  const service = await run({ pendingPolls: 1 });
  const { response, of, compile } = await documented(service);
  const uploaded = await service.upload(
    { ...profileRecord('a', { Name: 'A', Email: 'a@b.cd', k: 1 }), objectId: 'dev-1' },
    eventRecord('a', 'Buy', day, { n: 1 }),
    profileRecord('b', { Email: 'x' }),
  );
  const wanted = { event_name: 'Buy', from: 20231101, to: 20231201 };
  const answers: [string, unknown][] = [
    ['upload', uploaded],
    ['subscribe', await service.subscribe({ type: 'email', value: 'x', status: 'y' })],
    ['profile', await service.call('GET', '/1/profile.json?identity=a')],
    ['profile', await service.call('GET', '/1/profile.json?identity=nobody')],
  ];
  for (const kind of ['profiles', 'events'] as const) {
    const opened = await service.call('POST', `/1/${kind}.json?app=true`, wanted);
    answers.push([`${kind}-cursor`, opened]);
    // Pending, then the page.
    for (let poll = 0; poll < 2; poll++)
      answers.push([kind, await service.page(kind, opened.cursor ?? '')]);
  }
  answers.push([
    'demerge',
    await service.call('POST', '/1/demerge/profiles.json', { identities: ['a'] }),
  ]);
  for (const [name, { text }] of answers as [string, { text: string }][]) {
    const validate = response(name);
    expect(validate(JSON.parse(text)), `${name}: ${text} ${JSON.stringify(validate.errors)}`).toBe(
      true,
    );
  }
  const fail = compile(of('upload').responses['default']!.content['application/json'].schema);
  const { text } = await service.call('POST', '/1/upload', '{');
  expect(fail(JSON.parse(text))).toBe(true);
});

import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { headers, makeFolder, run } from '../running.js';

// A client generated from /_local/openapi.json by openapi-typescript, used with openapi-fetch in strict TypeScript.

const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url));
/** openapi-typescript needs the compiler API, which TypeScript 7 does not have. */
const withCompilerApi = `data:text/javascript,${encodeURIComponent(
  `import { register } from 'node:module';
   const hook = "export const resolve = (name, context, next) => next(name === 'typescript' ? '@typescript/typescript6' : name, context)";
   register('data:text/javascript,' + encodeURIComponent(hook));`,
)}`;

/** Calls every endpoint and prints what a program would use of the answers. No type is asserted. */
const program = `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const [baseUrl = '', headers = '{}'] = process.argv.slice(2);
const client = createClient<paths>({
  baseUrl,
  headers: JSON.parse(headers),
  querySerializer: { allowReserved: true }, // as the document says of cursors
});
type Upload = components['schemas']['UploadRequest'];

const d: Upload['d'] = [
  { type: 'profile', identity: 'ann', objectId: 'device-1', profileData: { City: 'Oslo' } },
  { type: 'event', identity: 'ann', evtName: 'Charged', evtData: { Amount: 15 }, ts: 1700049600 },
  { type: 'profile', identity: 'bob', profileData: { Email: 'x' } },
];
const { data: uploaded } = await client.POST('/1/upload', { body: { d } });
if (uploaded?.status === 'partial')
  console.log('upload', uploaded.processed, uploaded.unprocessed.map(({ code, error }) => [code, error.length > 0]).join());

const { data: subscribed } = await client.POST('/1/subscribe', {
  body: { d: [{ type: 'email', value: 'ann@example.com', status: 'Unsubscribe' }] },
});
if (subscribed?.status === 'success') console.log('subscribe', subscribed.processed);

const body = { event_name: 'Charged', from: 20231115, to: 20231115 };
const { data: openedProfiles } = await client.POST('/1/profiles.json', { params: { query: { batch_size: 23 } }, body });
if (openedProfiles?.status === 'success') {
  const { data: page } = await client.GET('/1/profiles.json', { params: { query: { cursor: openedProfiles.cursor } } });
  if (page?.status === 'success')
    for (const { identity, all_identities, platformInfo, events } of page.records ?? [])
      console.log('profiles', identity, all_identities.length, platformInfo[0]?.objectId, events?.['Charged']?.count, page.next_cursor);
}
const eventsPage = (cursor: string) =>
  client.GET('/1/events.json', { params: { query: { cursor } }, headers: { 'Content-Type': 'application/json' } });
const { data: openedEvents } = await client.POST('/1/events.json', { body });
if (openedEvents?.status === 'success') {
  let cursor: string | undefined = openedEvents.cursor;
  while (cursor !== undefined) {
    const { data: page } = await eventsPage(cursor);
    if (page?.status !== 'success') throw new Error(page?.error);
    for (const { ts, profile, event_props, session_props } of page.records ?? [])
      console.log('events', ts, profile.identity, event_props['Amount'], session_props.session_source);
    cursor = page.next_cursor;
  }
  const encodedTwice = encodeURIComponent(openedEvents.cursor);
  const { data: rejected } = await client.GET('/1/events.json', { params: { query: { cursor: encodedTwice } } });
  if (rejected?.status === 'fail') console.log('encoded twice', rejected.code);
}
const { data: found } = await client.GET('/1/profile.json', { params: { query: { identity: 'ann' } } });
if (found?.status === 'success') console.log('profile', found.record?.profileData?.['City']);

const { data: demerged } = await client.POST('/1/demerge/profiles.json', { body: { identities: ['ann'] } });
console.log('demerge', demerged?.status);

const { error } = await client.POST('/1/upload', { body: { d: [] }, headers: { 'X-Service-Passcode': 'wrong' } });
console.log('error', error?.error, error?.code);
// @ts-expect-error -- a record has a type
await client.POST('/1/upload', { body: { d: [{ identity: 'ann' }] } });
// @ts-expect-error -- the cursor is required
await client.GET('/1/events.json', { params: { query: {} } });
`;

it('generates a client that calls all endpoints in strict TypeScript without a cast', async () => {
  const service = await run();
  const folder = makeFolder();
  const node = async (...words: string[]) =>
    promisify(execFile)(process.execPath, words, { cwd: folder }).catch((error: unknown) => {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(stdout + stderr, { cause: error });
    });
  const document = await fetch(`${service.url}/_local/openapi.json`, { headers });
  mkdirSync(path.join(folder, 'node_modules'));
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types'])
    symlinkSync(path.join(modules, name), path.join(folder, 'node_modules', name));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(folder, 'openapi.json'), await document.text());
  writeFileSync(path.join(folder, 'client.ts'), program);
  const generator = path.join(modules, 'openapi-typescript/bin/cli.js');
  await node('--import', withCompilerApi, generator, 'openapi.json', '-o', 'schema.d.ts');
  const strict =
    '--ignoreConfig --strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --module nodenext --target es2022 --types node';
  await node(path.join(modules, 'typescript/bin/tsc'), ...strict.split(' '), 'client.ts');
  const { 'Content-Type': _, ...credentials } = headers;
  const { stdout } = await node('client.js', service.url, JSON.stringify(credentials));
  expect(stdout.split('\n')).toEqual([
    'upload 2 515,true',
    'subscribe 1',
    'profiles ann 1 device-1 1 undefined',
    'events 20231115120000 ann 15 Unavailable',
    'encoded twice 3',
    'profile Oslo',
    'demerge success',
    'error Passcode Invalid 401',
    '',
  ]);
});

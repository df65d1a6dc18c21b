import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startRecordedServer } from './recorded-server.js';

const files = readdirSync(new URL('../../../fixtures/answers/', import.meta.url));
const names = files.filter((name) => name.endsWith('.http')).map((name) => name.slice(0, -5));

it.each(names)('serves the recording %s', async (name) => {
  await using server = await startRecordedServer(name);
  expect(server.url).toMatch(/^http:/);
});

it('serves exchanges in order, then repeats the last one, and reports requests that match none', async () => {
  await using server = await startRecordedServer('upload-429-then-success');
  const upload = () => fetch(`${server.url}/1/upload`, { method: 'POST', body: '{}' });
  expect([await upload(), await upload(), await upload()].map(({ status }) => status)).toEqual([
    429, 200, 200,
  ]);
  expect((await fetch(`${server.url}/1/upload`)).status).toBe(501);
  expect(server.unexpected).toEqual(['GET /1/upload']);
});

it('stores bodies byte for byte, and compares queries as text', async () => {
  await using server = await startRecordedServer('events-pages');
  const page = await fetch(`${server.url}/1/events.json?cursor=AAE%2Fb3Bx%3D%3D`);
  expect(await page.text()).toContain('"Order":12345678901234567890}');
  expect((await fetch(`${server.url}/1/events.json?cursor=AAE%252Fb3Bx`)).status).toBe(501);
});

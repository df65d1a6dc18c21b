import { expect, it } from 'vitest';
import { startLoopbackServer } from '../../support/servers/loopback-server.js';
import { makeWorld } from '../../support/test-environment.js';

it('refuses to list more missed calls than fit in memory, as of a router whose list never ends', async () => {
  const context = 'x'.repeat(10_000);
  const call = { callId: 'c', status: 'missed', callContext: context, actions: { later: 'Later' } };
  let next = 0;
  await using server = await startLoopbackServer((_request, response) => {
    next += 100;
    response.end(JSON.stringify({ records: Array.from({ length: 100 }, () => call), next }));
  });
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'A', ENGAGECTL_CALL_API_KEY: 'key-1234567' };
  const argv = ['call', 'missed', 'list', '--call-url', server.url];
  const { code, stdout, stderr } = await makeWorld().run(argv, { env });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/there are more than 1,[56]\d\d missed calls[^]*--since <age>/);
});

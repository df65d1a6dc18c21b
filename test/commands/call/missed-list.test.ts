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

it('shows no calls of an answer that it cannot read', async () => {
  await using server = await startLoopbackServer((_request, response) => {
    response.end(JSON.stringify({ status: 'success', calls: [{ from: 'anna_k_1980' }] }));
  });
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'A', ENGAGECTL_CALL_API_KEY: 'key-1234567' };
  const argv = ['call', 'missed', 'list', '--call-url', server.url, '--max-attempts', '1'];
  const { code, stderr } = await makeWorld().run(argv, { env });
  expect(code).toBe(7);
  expect(stderr).toContain('"calls":…');
  expect(stderr).not.toContain('anna');
});

it('shows no API key that a router puts into its calls, and changes nothing else', async () => {
  const key = 'key/"1234567';
  const call = (callContext: string) => ({
    callId: 'c',
    status: 'missed',
    callContext,
    actions: { later: callContext },
  });
  const long = `two\nlines${'x'.repeat(3000)}`;
  await using server = await startLoopbackServer((_request, response) => {
    response.end(JSON.stringify({ records: [call(long), call(`hi ${key}`)], next: null }));
  });
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'A', ENGAGECTL_CALL_API_KEY: key };
  for (const argv of [['missed', 'list'], ['log'], ['log', '--json']]) {
    const { code, stdout } = await makeWorld().run(['call', ...argv, '--call-url', server.url], {
      env,
    });
    expect(code).toBe(0);
    expect(stdout).toContain(JSON.stringify(long));
    expect(stdout).toContain('"hi [passcode]"');
    expect(stdout).not.toContain('1234567');
  }
});

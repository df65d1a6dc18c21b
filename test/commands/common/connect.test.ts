import { describe, expect, onTestFinished, test } from 'vitest';
import { connectAccount } from '../../../src/commands/shared/connect.js';
import type { GlobalOptions } from '../../../src/commands/shared/global-options.js';
import { messagePrinter } from '../../../src/ui/messages.js';
import { makeWorld, type World } from '../../support/test-environment.js';

const local: GlobalOptions = {
  headerPrefixes: [],
  region: 'local',
  timeoutMs: 10_000,
  maxAttempts: 1,
  retryForMs: 1000,
  retryBaseMs: 1,
  json: false,
  logJson: false,
  quiet: false,
  verbose: true,
  debug: false,
  showPii: false,
  progress: 'never',
  color: false,
  forceColor: false,
  argv: [],
  flags: new Set(['region']),
};
const upload = Buffer.from(
  JSON.stringify({ d: [{ identity: 'ann', type: 'profile', profileData: { City: 'Bern' } }] }),
);

async function open(world: World, settings = local) {
  const runtime = world.runtime();
  const connection = await connectAccount(settings, runtime, {
    maxInFlight: 2,
    messages: messagePrinter(settings, runtime),
  });
  let closed = false;
  const close = async () => {
    if (!closed) await connection.close();
    closed = true;
  };
  onTestFinished(close);
  return { ...connection, close, runtime };
}

const ann = async ({ client, runtime }: Awaited<ReturnType<typeof open>>) => {
  const attempt = await client.profile('identity', 'ann', runtime.signal);
  return attempt.ok ? String(attempt.answer) : attempt.failure;
};

describe('connect --region local', () => {
  test('starts the service inside the process, over real HTTP, and keeps its data', async () => {
    const world = makeWorld();
    const first = await open(world);
    expect(first.account.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect(await first.client.write('upload', upload, first.runtime.signal)).toMatchObject({
      ok: true,
      answer: { status: 'success', processed: 1 },
    });
    await first.close();
    await expect(fetch(first.account.baseUrl)).rejects.toThrow('fetch failed');

    expect(await ann(await open(world))).toContain('Bern');
  });

  test('serves the same data to two concurrent commands, first ones included', async () => {
    const world = makeWorld();
    const [one, other] = await Promise.all([open(world), open(world)]);
    expect(one.account.baseUrl).not.toBe(other.account.baseUrl);
    expect(one.account.passcode).toBe(other.account.passcode);
    await one.client.write('upload', upload, one.runtime.signal);
    expect(await ann(other)).toContain('Bern');
  });

  test('uses the zone of --timezone', async () => {
    const { zone } = await open(makeWorld(), { ...local, timezone: 'Asia/Tokyo' });
    expect(zone.offsetAt(0)).toBe(9 * 3600);
  });
});

test('exits 2 for an unknown time zone in the config profile', async () => {
  const world = makeWorld();
  const settings: GlobalOptions = {
    ...local,
    region: 'eu1',
    baseUrl: 'https://eu1.example',
    timezone: 'Mars/Olympus',
    argv: [],
    flags: new Set(['baseUrl', 'timezone']),
  };
  const runtime = world.runtime({ env: { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' } });
  const connecting = connectAccount(settings, runtime, {
    maxInFlight: 1,
    messages: messagePrinter(settings, runtime),
  });
  await expect(connecting).rejects.toMatchObject({ id: 'E-CONFIG', exitCode: 2 });
});

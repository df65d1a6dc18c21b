import { readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../src/service/start.js';
import type { Variants } from '../../src/service/start.js';
import { startRecordedServer } from '../support/servers/recorded-server.js';
import { makeWorld, type Outcome, type World } from '../support/test-environment.js';
import { behaviours, type Behaviour } from './behaviors.js';
import { serviceDefaults } from '../support/service-defaults.js';

// One list of behaviours; each must hold against every recorded spelling of the answers and against
// the local service in every variant of the wire.

const account = { id: 'TEST-ACCOUNT', passcode: 'passcode-of-the-suite' };

for (const behaviour of behaviours) {
  describe(behaviour.title, () => {
    for (const name of behaviour.recordings) {
      it(`matches the recorded answer ${name}`, async () => {
        await using server = await startRecordedServer(name);
        const world = makeWorld();
        const outcome = await run(world, server.url, behaviour);
        expectOutcome(outcome, behaviour, world);
        expect(server.unexpected).toEqual([]);
        expect(server.requests.filter((request) => request.endsWith('/elsewhere'))).toEqual([]);
      });
    }

    for (const variants of localVariants(behaviour)) {
      it(`the local service behaves as described: ${JSON.stringify(variants)}`, async () => {
        const world = makeWorld();
        await prepare(world, variants, behaviour);
        const service = await startLocal(world, variants, behaviour.local ?? {});
        onTestFinished(() => service.close());
        const passcode = behaviour.local?.wrongPasscode ? 'another' : account.passcode;
        expectOutcome(await run(world, service.url, behaviour, passcode), behaviour, world);
      });
    }
  });
}

it('uses every recorded answer', () => {
  const files = readdirSync(new URL('../../fixtures/answers/', import.meta.url));
  const recorded = files.filter((name) => name.endsWith('.http')).map((name) => name.slice(0, -5));
  const played = new Set(behaviours.flatMap(({ recordings }) => recordings));
  expect(recorded.filter((name) => !played.has(name))).toEqual([]);
});

function localVariants({ local }: Behaviour): readonly Partial<Variants>[] {
  return local === undefined ? [] : (local.variants ?? [{}]);
}

/** Brings a local service into the state that the behaviour starts from. */
async function prepare(
  world: World,
  variants: Partial<Variants>,
  { local }: Behaviour,
): Promise<void> {
  for (const [argv, stdin] of local?.before ?? []) {
    const service = await startLocal(world, variants, {});
    expect(await run(world, service.url, { argv, stdin }), argv.join(' ')).toMatchObject({
      code: 0,
    });
    await service.close();
  }
}

function run(
  world: World,
  url: string,
  { argv, stdin = '' }: { readonly argv: readonly string[]; readonly stdin?: string | undefined },
  passcode = account.passcode,
): Promise<Outcome> {
  return world.run([...argv, '--base-url', url], {
    stdin,
    env: { ENGAGECTL_ACCOUNT_ID: account.id, ENGAGECTL_PASSCODE: passcode },
  });
}

function expectOutcome(outcome: Outcome, behaviour: Behaviour, world: World): void {
  expect(outcome.code, outcome.stderr).toBe(behaviour.code);
  expect(outcome.stdout + outcome.stderr).not.toContain(account.passcode);
  behaviour.see?.(outcome, world);
}

const startLocal = (
  world: World,
  variants: Partial<Variants>,
  { pendingPolls = 0, failRate = 0 }: { pendingPolls?: number; failRate?: number },
) =>
  startService({
    ...serviceDefaults,
    dataDir: `${world.stateDir}/service`,
    accountId: account.id,
    passcode: account.passcode,
    pendingPolls,
    failRate,
    variants,
  });

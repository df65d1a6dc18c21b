import { writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { serve } from '../support/serve.js';
import { makeWorld } from '../support/test-environment.js';

// Whoever calls `main` may abort it for any reason, as by AbortSignal.timeout.

const days = '--from 2024-01-01 --to 2024-01-02'.split(' ');
const commands = [
  ['upload', 'users.csv'],
  ['upload', 'users.csv', '--no-journal'],
  ['get-profile', '--input', 'users.csv', '-o', 'out.ndjson'],
  ['export-profiles', '--event', 'A', ...days, '-o', 'out.ndjson'],
  ['export-events', '--event', 'A', ...days, '-o', 'out.ndjson'],
] as const;

const reasons = [
  ['an error of another kind', () => new Error('the caller went home'), 'the caller went home'],
  ['a text', () => 'enough', 'enough'],
  ['an object without text', () => Object.create(null) as unknown, 'the reason has no text'],
  ['none', () => undefined, 'This operation was aborted'],
] as const;

it.each(commands.flatMap((argv) => reasons.map((reason) => [argv, ...reason] as const)))(
  'exits with 130 and the reason when %j is aborted for %s',
  async (argv, _name, reasonOf, told) => {
    const stop = new AbortController();
    const { world } = await serve({ onRequest: () => stop.abort(reasonOf()) });
    writeFileSync(world.path('users.csv'), 'identity,Seq\na,1\nb,2\n');
    const { code, stdout, stderr } = await world.run([...argv, '--json'], { signal: stop.signal });
    expect([code, stderr]).toEqual([130, expect.stringContaining(told)]);
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 130 });
    expect(stderr).toContain('E-INTERRUPTED');
  },
);

it('ends a run that waits for its input by AbortSignal.timeout', async () => {
  const world = makeWorld({ env: accountAt('http://127.0.0.1:9', 'p') });
  const endless = (async function* () {
    yield 'identity\n';
    await new Promise(() => undefined);
  })();
  const { code, stderr } = await world.run(['upload', '-'], {
    stdin: Readable.from(endless),
    signal: AbortSignal.timeout(50),
  });
  expect([code, stderr]).toEqual([130, expect.stringContaining('timeout')]);
});

import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { jsonRunner, serve } from '../../support/serve.js';

// The time zone of the environment is not in the command line that `runs resume` repeats.

it.each([
  [
    'upload a.csv --type event --chunk-size 1 --concurrency 1',
    'with the time zone Europe/Berlin, and it is UTC now',
  ],
  [
    'export-events --event A --from 2024-01-01 --to 2024-01-05 -o {day}.ndjson',
    '--timezone was "Europe/Berlin"',
  ],
])('names the time zone with which a run can be resumed: %s', async (line, changed) => {
  const stop = new AbortController();
  let requests = 0;
  const { world } = await serve({
    onRequest: () => void (++requests === 4 && stop.abort('enough')),
  });
  const rows = Array.from({ length: 20 }, (_, n) => `u${n},A,2024-01-02 03:04:05\n`);
  writeFileSync(world.path('a.csv'), `identity,evtName,ts\n${rows.join('')}`);
  writeFileSync(world.path('first.csv'), 'identity,evtName,ts\nv,A,2024-01-02 03:04:05\n');
  expect((await world.run(['upload', 'first.csv', '--type', 'event'])).code).toBe(0);
  requests = 0;
  const env = { ENGAGECTL_TIMEZONE: 'Europe/Berlin' };
  const run = jsonRunner<{ run: string }>(world);
  const { code, stderr, summary } = await run(line.split(' '), { env, signal: stop.signal });
  expect([6, 130], stderr).toContain(code);
  const refused = await world.run(['runs', 'resume', summary.run]);
  expect(refused.stderr.replaceAll('\\"', '"')).toContain(changed);
  const fix = `engagectl runs resume ${summary.run} --timezone Europe/Berlin`;
  expect(refused.stderr).toContain(fix);
  expect(refused.code).toBe(8);
  const resumed = await world.run(fix.split(' ').slice(1));
  expect(resumed.stderr).not.toContain('E-RUN-CHANGED');
  expect([0, 6], resumed.stderr).toContain(resumed.code);
});

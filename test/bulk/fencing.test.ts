import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { exportEntries } from '../../src/bulk/export/export-journal.js';
import { Journal } from '../../src/bulk/journal/journal.js';
import { writeEntries } from '../../src/bulk/outcomes/journal-entries.js';
import { serve, written } from '../support/serve.js';
import type { World } from '../support/test-environment.js';

// Another process goes on with a run whose owner is still at work, or has another version.

type Served = Awaited<ReturnType<typeof serve>>;

const users = `identity\n${Array.from({ length: 40 }, (_, n) => `user-${n}\n`).join('')}`;
const upload = ['upload', 'users.csv', '--chunk-size', '1', '--concurrency', '1', '--json'];

function journalOf({ stateDir }: World): string {
  const runs = path.join(stateDir, 'runs');
  const run = readdirSync(runs).find((name) => /^\d/.test(name)) ?? '';
  return path.join(runs, run, 'journal.ndjson');
}

it('stops sending and writing after another process took over the write: E-RUN-LOCKED', async () => {
  let taken: ReturnType<typeof Journal.open> | undefined;
  const { service, world }: Served = await serve({
    onRequest: ({ id }) => {
      if (id === 4) taken = Journal.open(journalOf(world), writeEntries);
    },
  });
  writeFileSync(world.path('users.csv'), users);
  const { code, stderr, stdout } = await world.run(upload);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-LOCKED')]);
  expect(JSON.parse(stdout)).toMatchObject({ read: 40, exitCode: 8 });
  // Those that were ready when it was found may still go out: no more than were under way.
  expect(service.requests().length).toBeLessThanOrEqual(6);
  taken?.journal.close();
});

it('stops requesting after another process took over the export: E-RUN-LOCKED', async () => {
  let taken: ReturnType<typeof Journal.open> | undefined;
  const event = { type: 'event', identity: 'u', evtName: 'A', ts: 1_704_100_000 };
  const { service, world }: Served = await serve({
    seed: Array.from({ length: 60 * 23 }, (_, n) => ({ ...event, evtData: { n } })),
    onRequest: ({ id }) => {
      if (id === 21) taken = Journal.open(journalOf(world), exportEntries);
    },
  });
  const days = '--event A --from 2024-01-01 --to 2024-01-01'.split(' ');
  const argv = ['export-events', ...days, '--batch-size', '23', '-o', 'out.ndjson'];
  const { code, stderr } = await world.run(argv);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-LOCKED')]);
  // Up to eight pages may be written while the disk is waited for.
  expect(service.requests().length).toBeLessThan(36);
  taken?.journal.close();
});

it('refuses a journal of a later version, and loses nothing: E-JOURNAL', async () => {
  const { service, world } = await serve();
  await service.fault({ after: 2, times: 1, answer: { status: 401 } });
  writeFileSync(world.path('users.csv'), users);
  expect((await world.run(upload)).code).toBe(4);

  const file = journalOf(world);
  const begun = readFileSync(file);
  const later = Journal.open(file, { ...writeEntries, priced: true });
  later.journal.write({ kind: 'priced' });
  later.journal.close();
  const kept = readFileSync(file);
  const sent = service.requests().length;
  for (const flag of ['--resume', '--no-journal', '--check']) {
    const { code, stderr } = await world.run([...upload, flag]);
    if (flag === '--check') expect(code).toBe(0);
    else expect([flag, code, stderr]).toEqual([flag, 8, expect.stringMatching(/E-(JOURNAL|RUN-)/)]);
  }
  const { code, stderr } = await world.run([...upload, '--resume']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-JOURNAL')]);
  expect([service.requests().length, readFileSync(file)]).toEqual([sent, kept]);

  writeFileSync(file, begun); // the version that wrote it goes on
  const resumed = await world.run([...upload, '--resume']);
  expect([resumed.code, written(service).length]).toEqual([0, 40]);
});

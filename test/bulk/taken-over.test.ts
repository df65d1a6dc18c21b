import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { exportEntries } from '../../src/bulk/export/export-entries.js';
import { Journal } from '../../src/bulk/journal/journal.js';
import { writeEntries } from '../../src/bulk/write/write-entries.js';
import { accountAt } from '../support/account-at.js';
import { accept, answer, startFaultServer } from '../support/fault-server.js';
import { recordsPage, startPageServer, type Page } from '../support/page-server.js';
import { makeWorld, type World } from '../support/world.js';

// Another process goes on with a run whose owner is still at work, or has another version.

const users = `identity\n${Array.from({ length: 40 }, (_, n) => `user-${n}\n`).join('')}`;
const upload = ['upload', 'users.csv', '--chunk-size', '1', '--concurrency', '1', '--json'];

function journalOf({ stateDir }: World): string {
  const runs = path.join(stateDir, 'runs');
  const run = readdirSync(runs).find((name) => /^\d/.test(name)) ?? '';
  return path.join(runs, run, 'journal.ndjson');
}

it('a write that was taken over sends and writes nothing more: E-RUN-LOCKED', async () => {
  const world = makeWorld();
  let taken: ReturnType<typeof Journal.open> | undefined;
  await using server = await startFaultServer((_, index) => {
    if (index === 3) taken = Journal.open(journalOf(world), writeEntries);
    return accept();
  });
  writeFileSync(world.path('users.csv'), users);
  const { code, stderr, stdout } = await world.run(upload, { env: accountAt(server.url, 'p') });
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-LOCKED')]);
  expect(JSON.parse(stdout)).toMatchObject({ read: 40, exitCode: 8 });
  // Those that were ready when it was found may still go out: no more than were under way.
  expect(server.received.length).toBeLessThanOrEqual(6);
  taken?.journal.close();
});

it('an export that was taken over asks for nothing more: E-RUN-LOCKED', async () => {
  const world = makeWorld();
  let taken: ReturnType<typeof Journal.open> | undefined;
  const takeOver = () => {
    taken ??= Journal.open(journalOf(world), exportEntries);
    return true;
  };
  await using server = await startPageServer(() =>
    Array.from({ length: 60 }, (_, n): Page => {
      const page = recordsPage(`{"n":${n}}`);
      return n === 20 ? (next) => ({ body: page(next) as string, until: takeOver }) : page;
    }),
  );
  const days = '--event A --from 2024-01-01 --to 2024-01-01'.split(' ');
  const argv = ['export-events', ...days, '-o', 'out.ndjson'];
  const { code, stderr } = await world.run(argv, { env: server.env });
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-LOCKED')]);
  // Up to eight pages may be written while the disk is waited for.
  expect(server.asked.length).toBeLessThan(35);
  taken?.journal.close();
});

it('a journal of a later version is refused, and loses nothing: E-JOURNAL', async () => {
  const world = makeWorld();
  await using server = await startFaultServer((_, index) =>
    index === 2 ? answer(401, { status: 'fail', error: 'Passcode Invalid', code: 401 }) : accept(),
  );
  writeFileSync(world.path('users.csv'), users);
  const env = accountAt(server.url, 'p');
  expect((await world.run(upload, { env })).code).toBe(4);

  const file = journalOf(world);
  const begun = readFileSync(file);
  const later = Journal.open(file, { ...writeEntries, priced: true });
  later.journal.write({ kind: 'priced' });
  later.journal.close();
  const kept = readFileSync(file);
  const sent = server.received.length;
  for (const flag of ['--resume', '--no-journal', '--check']) {
    const { code, stderr } = await world.run([...upload, flag], { env });
    if (flag === '--check') expect(code).toBe(0);
    else expect([flag, code, stderr]).toEqual([flag, 8, expect.stringMatching(/E-(JOURNAL|RUN-)/)]);
  }
  const { code, stderr } = await world.run([...upload, '--resume'], { env });
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-JOURNAL')]);
  expect([server.received.length, readFileSync(file)]).toEqual([sent, kept]);

  writeFileSync(file, begun); // the version that wrote it goes on
  const resumed = await world.run([...upload, '--resume'], { env });
  expect([resumed.code, server.executed.length]).toEqual([0, 40]);
});

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { linesStart } from '../../../src/bulk/journal/journal-format.js';
import { serve, written } from '../../support/serve.js';

const events = Array.from(
  { length: 8 },
  (_, n) =>
    `{"type":"event","identity":"u${n}","evtName":"E","ts":1700000000,"evtData":{"n":${n}}}\n`,
).join('');
const upload = ['upload', 'e.ndjson', '--chunk-size', '1', '--concurrency', '1', '--json'];

/** A run that a 401 ended after four events, and its journal. */
async function interrupted() {
  const { service, world } = await serve();
  await service.fault({ after: 4, times: 1, answer: { status: 401 } });
  writeFileSync(world.path('e.ndjson'), events);
  expect((await world.run(upload)).code).toBe(4);
  const runs = path.join(world.stateDir, 'runs');
  const run = readdirSync(runs).find((name) => /^\d/.test(name)) ?? '';
  return { service, world, run, journal: path.join(runs, run, 'journal.ndjson') };
}

type Damage = [what: string, proved: number, damage: (journal: string) => void];

describe('runs repair', () => {
  it.each<Damage>([
    ['lost its last lines', 1, (journal) => cut(journal, 6)],
    ['lost its synced mark', 4, (journal) => overwrite(journal, 10, 522)],
    ['has a damaged line', 1, (journal) => overwrite(journal, lineStart(journal, 5) + 20)],
    ['has a damaged first line', 0, (journal) => overwrite(journal, linesStart + 20)],
    ['is empty', 0, (journal) => writeFileSync(journal, '')],
    ['is missing', 0, (journal) => rmSync(journal)],
  ])(
    'lets a run end whose journal %s, without sending an event twice',
    async (_, proved, damage) => {
      const { service, world, run, journal } = await interrupted();
      const sent = written(service).flat().length;
      damage(journal);
      const refused = await world.run([...upload, '--resume']);
      expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('runs repair')]);

      const repaired = await world.run(['runs', 'repair', run, '--json']);
      expect(repaired.code, repaired.stderr).toBe(0);
      expect(JSON.parse(repaired.stdout)).toMatchObject({
        repaired: true,
        proved: { accepted: proved },
      });
      const { code, stdout } = await world.run([...upload, '--resume']);
      expect(code).toBe(6);
      expect(JSON.parse(stdout)).toMatchObject({ read: 8, resumed: proved, unknown: 8 - proved });
      expect(written(service).flat()).toHaveLength(sent);
    },
  );

  it('leaves an intact journal unchanged', async () => {
    const { world, run, journal } = await interrupted();
    const before = readFileSync(journal);
    const { code, stderr } = await world.run(['runs', 'repair', run]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('is not damaged')]);
    expect(readFileSync(journal)).toEqual(before);
  });
});

/** Byte at which a line starts, from 1. */
function lineStart(journal: string, line: number): number {
  const content = readFileSync(journal);
  let at = linesStart;
  for (let n = 1; n < line; n += 1) at = content.indexOf('\n', at) + 1;
  return at;
}

const cut = (journal: string, line: number): void =>
  writeFileSync(journal, readFileSync(journal).subarray(0, lineStart(journal, line)));

function overwrite(journal: string, ...places: readonly number[]): void {
  const content = readFileSync(journal);
  for (const at of places) content[at]! ^= 1;
  writeFileSync(journal, content);
}

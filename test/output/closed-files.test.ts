import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unnamedOption } from '../../src/errors.js';
import { openOutput } from '../../src/output/document-output.js';
import { SpillFile } from '../../src/output/spill-file.js';
import { openFilesBelow } from '../support/open-descriptors.js';
import { serve } from '../support/serve.js';
import { makeWorld } from '../support/test-environment.js';

// Files are closed also where a run ends between opening them and the first write.

const isLinux = process.platform === 'linux';

describe.skipIf(!isLinux)('D the rejects file of a resumed run is closed', () => {
  /** A demerge with one rejected line, interrupted after its first request. */
  async function interrupted() {
    const { service, world } = await serve({}, { tty: true, env: { NO_COLOR: '1' } });
    const ids = Array.from({ length: 300 }, (_, n) => `u${n}`);
    writeFileSync(world.path('ids.txt'), `${'x'.repeat(5000)}\n${ids.join('\n')}\n`);
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const demerge = (typed: string, ...words: string[]) =>
      world.run(['demerge', 'ids.txt', '--concurrency', '1', ...words], { stdin: typed });
    const { code, stderr } = await demerge('300\n');
    expect(code, stderr).toBe(4);
    expect(readdirSync(world.cwd)).toContain('ids.txt.rejects.ndjson');
    return { world, demerge };
  }

  it('when the confirmation is declined', async () => {
    const { world, demerge } = await interrupted();
    const { code, stderr } = await demerge('no\n', '--resume');
    expect([code, stderr]).toEqual([2, expect.stringContaining('Type ')]);
    expect(openFilesBelow(path.dirname(world.cwd))).toEqual([]);
  });

  it('when the run ends although the ledger is damaged', async () => {
    const { world, demerge } = await interrupted();
    writeFileSync(path.join(world.stateDir, 'ledger.ndjson'), 'no ledger\n');
    const { code, stderr } = await demerge('300\n', '--resume');
    expect([code, stderr]).toEqual([3, expect.stringContaining('the ledger')]);
    expect(openFilesBelow(path.dirname(world.cwd))).toEqual([]);
  });
});

describe.skipIf(!isLinux)('D a spill file is closed', () => {
  it('when its content cannot be restored', async () => {
    const world = makeWorld();
    const members = Array.from({ length: 10_001 }, (_, n) => `"c${n}":1`);
    const spool = Buffer.from(`{${members.join(',')}}\n`);
    writeFileSync(world.path('out.csv.partial.records'), spool, { mode: 0o600 });
    const options = {
      path: 'out.csv',
      format: 'csv',
      gzip: false,
      overwrite: false,
      fresh: false,
      escapeFormulas: false,
      bom: false,
      option: unnamedOption,
    } as const;
    const resume = { bytes: spool.length, crc: crc32(spool), records: 1 };
    await expect(openOutput(options, world.runtime(), resume)).rejects.toMatchObject({
      id: 'E-COLUMNS',
    });
    expect(openFilesBelow(world.cwd)).toEqual([]);
  });

  it('when it cannot be truncated', async () => {
    const nulls = () =>
      readdirSync('/proc/self/fd').filter((descriptor) => leadsTo(descriptor) === '/dev/null');
    const before = nulls();
    const opened = SpillFile.open('/dev/null', undefined, { option: unnamedOption }); // a device has no length
    await expect(opened).rejects.toMatchObject({ id: 'E-FILE-WRITE' });
    expect(nulls()).toEqual(before);
  });

  it('when its name cannot be removed', async ({ skip }) => {
    const world = makeWorld();
    const folder = world.path('append-only');
    mkdirSync(folder);
    if (spawnSync('chattr', ['+a', folder]).status !== 0) skip('no append-only folders here');
    onTestFinished(() => void execFileSync('chattr', ['-a', folder]));
    const opened = SpillFile.openNameless(path.join(folder, 'spool'), unnamedOption);
    await expect(opened).rejects.toThrow('spool');
    expect(openFilesBelow(folder)).toEqual([]);
  });
});

function leadsTo(descriptor: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined; // closed meanwhile
  }
}

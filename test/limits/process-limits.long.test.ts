import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serve } from '../support/serve.js';
import { makeWorld } from '../support/test-environment.js';
import { hasStrace, outcomeOf, start } from '../chaos/bin.js';
import { passcode } from '../chaos/invariants.js';

// What the machine allows a process, and what happens to its files meanwhile.

async function uploadWith(limit: string, words: readonly string[] = []) {
  const { service, world } = await serve({ accountId: 'ACCOUNT-1', passcode });
  writeFileSync(world.path('in.csv'), 'identity,n\na,1\n');
  const tracer = ['sh', '-c', `ulimit ${limit}; exec ${words.join(' ')} "$@"`, 'sh'];
  const argv = ['upload', 'in.csv', '--json'];
  const outcome = await outcomeOf(start(world, { url: service.url, argv, tracer }));
  return { ...outcome, requests: service.requests().length };
}

describe.skipIf(process.platform !== 'linux')('D too few resources', () => {
  it('reports too few open files in one line, and sends nothing', async () => {
    const { code, stderr, requests } = await uploadWith('-n 24');
    expect([code, requests]).toEqual([2, 0]);
    const message = 'engagectl may open too few files here: ulimit -n 256';
    const error = { id: 'E-USAGE', message, exitCode: 2 };
    expect(JSON.parse(stderr)).toEqual({ type: 'error', error });
  });

  it.each(['-v 8000000', '-v 20000000'])(
    'names a working fix for too little address space (%s)',
    async (limit) => {
      const { code, stderr, requests } = await uploadWith(limit);
      expect([code, requests]).toEqual([2, 0]);
      expect(stderr).toContain('"id":"E-WEBASSEMBLY"');
      const without = /NODE_OPTIONS=\S+/.exec(stderr)?.[0] ?? '';
      expect(await uploadWith(limit, ['env', without])).toMatchObject({ code: 0, requests: 1 });
    },
  );
});

it.skipIf(!hasStrace)(
  'warns of a spill file that cannot be removed, and completes the export',
  async () => {
    const event = { type: 'event', identity: 'u', evtName: 'A', ts: 1_704_100_000 };
    const seed = [
      { ...event, evtData: { a: 1 } },
      { ...event, evtData: { b: 2 } },
    ];
    const { service, world } = await serve({ accountId: 'ACCOUNT-1', passcode, seed });
    const inject = ['-e', 'trace=unlink,unlinkat', '-e', 'inject=unlink,unlinkat:error=EACCES'];
    const tracer = [
      'strace',
      '-f',
      '-o',
      world.path('trace'),
      '-P',
      world.path('out.csv.partial.records'),
    ];
    const child = start(world, {
      url: service.url,
      argv: ['export-events', '--event=A', '--from=2024-01-01', '--to=2024-01-01', '-o', 'out.csv'],
      tracer: [...tracer, ...inject],
    });
    const { code, stderr } = await outcomeOf(child);
    expect(readFileSync(world.path('out.csv'), 'utf8').match(/\n/g)).toHaveLength(3);
    expect(
      [code, stderr.match(/warning: cannot remove the temporary file \S+/g)?.length],
      stderr,
    ).toEqual([0, 1]);
  },
);

describe('a file', () => {
  it.each<[string, (path: string) => void]>([
    ['deleted', (path) => rmSync(path)],
    [
      'replaced',
      (path) => {
        writeFileSync(`${path}.new`, 'identity,n\nz,1\n');
        renameSync(`${path}.new`, path);
      },
    ],
  ])('%s while it is read is reported, and its content is sent', async (_, change) => {
    const { world } = await serve({
      onRequest: ({ id }) => {
        if (id === 1) change(path);
      },
    });
    const path = world.path('in.csv');
    const rows = Array.from({ length: 60_000 }, (__, n) => `user-${n},1\n`);
    writeFileSync(path, `identity,n\n${rows.join('')}`);
    const { code, stdout, stderr } = await world.run(['upload', 'in.csv', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: rows.length });
    expect(stderr).toContain('in.csv was deleted or replaced while it was being read');
    expect(existsSync(world.path('in.csv.rejects.ndjson'))).toBe(false);
  });

  it('whose last line has no newline and too few cells is reported as possibly truncated', async () => {
    const world = makeWorld();
    writeFileSync(world.path('in.csv'), 'identity,n,m\na,1,2\nb,2');
    const { code, stderr } = await world.run(['upload', 'in.csv', '--check']);
    expect(code).toBe(9);
    expect(stderr).toContain('E-INCOMPLETE');
    expect(stderr).toContain('2 cells, but the header has 3; the last line has no line end');
  });
});

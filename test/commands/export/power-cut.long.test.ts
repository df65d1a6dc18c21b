import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasStrace, outcomeOf, start } from '../../chaos/bin.js';
import { cutPower, powerCutFlags, snapshotOf } from '../../chaos/power-cut.js';
import { randomOf, seeds } from '../../chaos/random.js';
import {
  inTurn,
  recordsPage,
  startPageServer,
  type Opening,
} from '../../support/servers/page-server.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// The power is cut after an export stopped: of what was not synced the disk has any part, or nothing.

const days = ['--from', '2024-01-01', '--to', '2024-01-02'];
const pagesOf = ({ from }: Opening) =>
  [1, 2, 3].map((p) => recordsPage(`{"d":${from},"p":${p}}`, `{"n":{"${from}-${p}":"=1+1"}}`));
const stopping = (opening: Opening) =>
  pagesOf(opening).map((page, index) =>
    index === 2 && opening.earlier === 0 ? inTurn([{ status: 500, body: 'broken' }], page) : page,
  );

const contents = (world: World) =>
  Object.fromEntries(
    readdirSync(world.cwd).map((name) => [name, readFileSync(world.path(name), 'latin1')]),
  );

describe.runIf(hasStrace)('D an export interrupted before a power cut', () => {
  it.each(
    ['out.ndjson', 'out.csv', 'out.json'].flatMap((file) =>
      ['export-profiles', 'export-events'].flatMap((command) =>
        seeds(1).map((seed) => [command, file, seed] as const),
      ),
    ),
  )('is resumed to the same bytes: %s -o %s, seed %i', async (command, file, seed) => {
    const argv = [command, '--event', 'A', ...days, '-o', file];
    await using good = await startPageServer(pagesOf);
    const undisturbed = makeWorld({ env: good.env });
    expect((await undisturbed.run(argv)).code).toBe(0);

    await using server = await startPageServer(stopping);
    const world = makeWorld();
    const root = path.dirname(world.cwd);
    const trace = path.join(root, 'trace');
    const strace = ['strace', '-f', '-qq', '-o', trace, ...powerCutFlags()];
    const before = snapshotOf(root);
    const traced = [...argv, '--max-attempts', '1'];
    const child = start(world, { url: server.url, argv: traced, tracer: strace });
    const { code, stderr } = await outcomeOf(child);
    expect(code, stderr).toBe(5);
    cutPower(root, { trace, before }, randomOf(seed));
    rmSync(trace);

    const asked = server.asked.length;
    const resumed = await outcomeOf(start(world, { url: server.url, argv: [...argv, '--resume'] }));
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(contents(world)).toEqual(contents(undisturbed));
    // What the journal names need not be asked for again.
    expect(server.asked.length - asked).toBeLessThan(6);
  });
});

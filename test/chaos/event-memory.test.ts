import { copyFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serve, written } from '../support/serve.js';
import { accountAt } from '../support/account-environment.js';
import { outcomeOf, start } from './bin.js';
import { passcode } from './invariants.js';
import { until } from '../support/until.js';

// Each event arrives as often as the input has it, whatever people and processes do to its file.

const event = (n: number): string =>
  JSON.stringify({
    identity: `u${n}`,
    type: 'event',
    evtName: 'Visit',
    ts: 1_700_000_000 + n,
    evtData: { n },
  });
const lines = (numbers: readonly number[]): string => numbers.map((n) => `${event(n)}\n`).join('');
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, n) => from + n);

const countsOf = (numbers: Iterable<number>): Map<number, number> => {
  const counts = new Map<number, number>();
  for (const n of numbers) counts.set(n, (counts.get(n) ?? 0) + 1);
  return counts;
};

describe('a file of events', () => {
  const numbers = fc.array(fc.nat(30), { minLength: 1, maxLength: 25 });
  const bounds = fc.tuple(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
  );
  const action = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('append' as const), numbers }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const), bounds }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reverse' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('copy' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('break' as const), at: fc.nat(20) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('upload' as const),
        flag: fc.constantFrom([], ['--resume'], ['--changed'], ['--fresh']),
        way: fc.constantFrom(
          'plain',
          'crlf',
          'gzip',
          'array',
          'utf16',
          'pipe',
          'namedPipe',
          'twice',
        ),
        stopsAfter: fc.option(fc.nat(3), { freq: 3 }),
        chunk: fc.integer({ min: 1, max: 7 }),
      }),
    },
  );

  it('that is edited, copied, cut, re-encoded and stopped at random arrives as the input has it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 12 }), async (actions) => {
        const { service, world } = await serve();
        let file = { name: 'a', numbers: range(0, 8), broken: -1 };
        let copies = 0;
        /** Copies of each event that an upload that ended well had. */
        const wanted = new Map<number, number>();
        /** Copies that any upload may have sent. */
        const allowed = new Map<number, number>();
        const raise = (most: Map<number, number>) => {
          for (const [n, count] of countsOf(file.numbers.filter((_, at) => at !== file.broken))) {
            most.set(n, Math.max(most.get(n) ?? 0, count));
          }
        };
        const upload = async (flags: readonly string[], way: string, chunk = 5) => {
          const rows = file.numbers.map((n, at) =>
            at === file.broken ? event(n).replace(/"ts":\d+/, '"ts":"soon"') : event(n),
          );
          const text = rows.map((row) => `${row}\n`).join('');
          const [name, content] = encoded(file.name, text, way);
          const isPiped = way === 'pipe' || way === 'namedPipe';
          if (!isPiped) writeFileSync(world.path(name), content);
          const isResumable = flags.includes('--resume') && way === 'pipe' ? [] : flags;
          const argv = [
            'upload',
            isPiped ? '-' : name,
            '--json',
            '--concurrency',
            '2',
            '--chunk-size',
            `${chunk}`,
            ...(isPiped ? ['--input-format', 'ndjson'] : []),
            ...(way === 'array' ? ['--input-format', 'json'] : []),
            ...(way === 'namedPipe' ? ['--run-name', file.name] : []),
            ...(way === 'pipe' && flags.includes('--resume') ? ['--changed'] : []),
            ...isResumable,
          ];
          const run = async () => world.run(argv, isPiped ? { stdin: text } : {});
          raise(allowed);
          const [outcome] = await Promise.all(way === 'twice' ? [run(), run()] : [run()]);
          return outcome;
        };
        for (const { do: what, ...more } of actions) {
          if (what === 'append') file.numbers.push(...(more as { numbers: number[] }).numbers);
          if (what === 'reverse') file.numbers.reverse();
          if (what === 'break') file.broken = (more as { at: number }).at;
          if (what === 'copy')
            file = {
              numbers: [...file.numbers],
              broken: file.broken,
              name: `copy${(copies += 1)}`,
            };
          if (what === 'cut') {
            const [a, b] = (more as { bounds: [number, number] }).bounds;
            const { length } = file.numbers;
            file.numbers = file.numbers.slice(
              Math.floor(a * length * 0.5),
              length - Math.floor(b * length * 0.5),
            );
          }
          if (what !== 'upload') continue;
          const { flag, way, stopsAfter, chunk } = more as {
            flag: string[];
            way: string;
            stopsAfter: number | null;
            chunk: number;
          };
          if (stopsAfter !== null)
            await service.fault({ after: stopsAfter, answer: { status: 401 } });
          const { code, stderr } = await upload(flag, way, chunk);
          service.clearFaults();
          expect([0, 3, 4, 8], stderr).toContain(code);
          if (code === 0 || code === 3) raise(wanted);
        }
        file.broken = -1;
        const { code, stderr } = await upload(['--resume'], 'plain');
        // The run of that name may have been stopped with other options of the same meaning.
        expect(code, stderr).toBe(0);
        raise(wanted);
        const arrived = countsOf(
          written<{ evtData: { n: number }; ts: unknown }>(service)
            .flat()
            .filter(({ ts }) => typeof ts === 'number')
            .map(({ evtData }) => evtData.n),
        );
        for (const [n, count] of wanted)
          expect(arrived.get(n) ?? 0, `event ${n}`).toBeGreaterThanOrEqual(count);
        for (const [n, count] of arrived)
          expect(count, `event ${n}`).toBeLessThanOrEqual(allowed.get(n) ?? 0);
        await service.close();
      }),
      {
        numRuns: Number(process.env['ENGAGECTL_EVENT_RUNS'] ?? 4),
        seed: Number(process.env['ENGAGECTL_SEED'] ?? Date.now()),
      },
    );
  }, 120_000);
});

function encoded(
  name: string,
  text: string,
  way: string,
): readonly [name: string, content: string | Buffer] {
  if (way === 'crlf') return [`${name}.ndjson`, text.replaceAll('\n', '\r\n')];
  if (way === 'gzip') return [`${name}.ndjson.gz`, gzipSync(text)];
  if (way === 'utf16') return [`${name}.ndjson`, Buffer.from(`\ufeff${text}`, 'utf16le')];
  if (way === 'array') return [`${name}.json`, `[${text.trimEnd().replaceAll('\n', ',')}]`];
  return [`${name}.ndjson`, text];
}

describe('processes', () => {
  const stage = async () => {
    const { service, world } = await serve({ passcode, accountId: 'ACCOUNT-1', latencyMs: 20 });
    const run = async (argv: readonly string[]) =>
      outcomeOf(start(world, { url: service.url, argv: [...argv, '--json'] }));
    const stored = () =>
      countsOf(
        written<{ evtData: { n: number } }>(service)
          .flat()
          .map(({ evtData }) => evtData.n),
      );
    return { service, world, run, stored };
  };
  const chunks = ['--chunk-size', '50', '--concurrency', '3'];

  it('that send the same content at the same time send each event once', async () => {
    const { world, run, stored } = await stage();
    writeFileSync(world.path('a.ndjson'), lines(range(0, 2000)));
    writeFileSync(world.path('b.ndjson'), lines(range(0, 2000).toReversed()));
    const ended = await Promise.all(
      ['a.ndjson', 'b.ndjson', 'a.ndjson'].map((name, at) =>
        run([
          'upload',
          name,
          ...chunks,
          '--resume',
          ...(at === 2 ? ['--chunk-bytes', '5000'] : []),
        ]),
      ),
    );
    for (const { code, stderr } of ended) expect([0, 8], stderr).toContain(code);
    expect(ended.filter(({ code }) => code === 0).length).toBeGreaterThan(1);
    expect([...new Set(stored().values())]).toEqual([1]);
    expect(stored().size).toBe(2000);
  });

  it('killed by SIGKILL leave nothing that a copy or a resumed run sends twice, and report what is unknown', async () => {
    const { world, run, service, stored } = await stage();
    writeFileSync(world.path('a.ndjson'), lines(range(0, 2000)));
    const killed = start(world, { url: service.url, argv: ['upload', 'a.ndjson', ...chunks] });
    await until(() => service.requests().length >= 12, { message: '12 requests' });
    killed.kill('SIGKILL');
    await outcomeOf(killed);
    copyFileSync(world.path('a.ndjson'), world.path('copy.ndjson'));
    const refused = await run(['upload', 'copy.ndjson', ...chunks]);
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    const copy = await run(['upload', 'copy.ndjson', ...chunks, '--resume']);
    const { unknown, accepted, alreadySent } = JSON.parse(copy.stdout) as Record<string, number>;
    expect(copy.code, copy.stderr).toBe(unknown === 0 ? 0 : 6);
    expect(unknown! + accepted! + alreadySent!).toBe(2000);
    const original = await run(['upload', 'a.ndjson', ...chunks, '--resume']);
    expect([0, 6], original.stderr).toContain(original.code);
    expect(Math.max(...stored().values())).toBe(1);
    expect(2000 - stored().size).toBeLessThanOrEqual(unknown!);
    const last = await run(['upload', 'copy.ndjson', '--resume']);
    expect([last.code, JSON.parse(last.stdout)]).toMatchObject([0, { alreadySent: 2000 }]);
  });

  it('of two machines with clocks that differ remember the same', async () => {
    const { service, world, stored } = await stage();
    const env = accountAt(service.url, passcode);
    writeFileSync(world.path('a.ndjson'), lines(range(0, 20)));
    for (const years of [0, 10, -10]) {
      const now = () => Date.now() + years * 365 * 86_400_000;
      const { code } = await world.run(['upload', 'a.ndjson', '--resume'], { env, now });
      expect(code).toBe(0);
      expect((await world.run(['runs', 'prune', '--yes'], { env, now })).code).toBe(0);
    }
    expect([...new Set(stored().values())]).toEqual([1]);
  });
});

import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { randomOf, seeds, type Random } from '../chaos/random.js';
import { runs } from '../support/property-runs.js';
import { serve, written } from '../support/serve.js';

// Inputs that change between a stop and --resume, as by a logger, an editor or log rotation:
// ENGAGECTL_SEED=<seed> starts with that one.

const kinds = ['increments', 'events', 'users'] as const;
type Kind = (typeof kinds)[number];

const lineOf = (kind: Kind, id: string): string =>
  JSON.stringify({
    identity: id,
    ...(kind === 'events'
      ? { type: 'event', evtName: 'Visit', ts: 1_700_000_000, evtData: { id } }
      : { profileData: kind === 'users' ? { id } : { Visits: { $incr: 1 } } }),
  });

/** Ids of a file after somebody changed it. `fresh` names users who are in no file. */
function edited(ids: readonly string[], fresh: () => string, random: Random): string[] {
  const at = random.below(ids.length + 1);
  return random.pick([
    () => [...ids, fresh()],
    () => [...ids, fresh(), fresh(), fresh()],
    () => [fresh(), ...ids],
    () => ids.toSpliced(at, 0, fresh()),
    () => ids.slice(1),
    () => ids.slice(0, -1),
    () => [...ids.slice(0, -1), fresh()],
    () => ids.slice(at),
    () => ids.toReversed(),
  ])();
}

it(
  'sends each record once, or nothing, if inputs change before a run is resumed',
  { timeout: 120_000 },
  async () => {
    const seen = { done: 0, refused: 0 };
    for (const seed of seeds(runs(300))) {
      const random = randomOf(seed);
      const kind = random.pick(kinds);
      let users = 0;
      const fresh = () => `u${users++}`;
      const files = Array.from({ length: 1 + random.below(3) }, () =>
        Array.from({ length: 1 + random.below(12) }, fresh),
      );
      const { service, world } = await serve();
      const write = (texts: readonly (readonly string[])[]) => {
        for (const [n, ids] of texts.entries())
          writeFileSync(
            world.path(`${n}.ndjson`),
            ids.map((id) => `${lineOf(kind, id)}\n`).join(''),
          );
      };
      const upload = [
        'upload',
        ...files.map((_, n) => `${n}.ndjson`),
        '--chunk-size',
        String(1 + random.below(3)),
        '--concurrency',
        String(1 + random.below(2)),
      ];
      const sent = () =>
        written<{ identity: string }>(service)
          .flat()
          .map(({ identity }) => identity);
      /** Fails if a user is missing at the service, or was sent twice where that does harm. */
      const expectAll = (texts: readonly (readonly string[])[], what: string) => {
        const ids = sent();
        for (const id of texts.flat()) expect(ids, `seed ${seed}, ${what}: ${id}`).toContain(id);
        if (kind !== 'users') expect(new Set(ids).size, `seed ${seed}, ${what}`).toBe(ids.length);
      };

      write(files);
      await service.fault({ after: random.below(6), times: 1, answer: { status: 401 } });
      if ((await world.run(upload)).code !== 4) continue; // the inputs took fewer requests
      const changed = files.map((ids) => (random.chance(0.6) ? edited(ids, fresh, random) : ids));
      write(changed);
      const { code, stderr } = await world.run([...upload, '--resume']);
      if (code === 0) {
        seen.done += 1;
        expectAll(changed, 'resumed');
      } else {
        seen.refused += 1;
        expect([code, stderr], `seed ${seed}`).toEqual([8, expect.any(String)]);
        write(files);
        expect((await world.run([...upload, '--resume'])).code, `seed ${seed}`).toBe(0);
        expectAll(files, 'restored');
      }
    }
    expect(Math.min(seen.done, seen.refused)).toBeGreaterThan(0);
  },
);

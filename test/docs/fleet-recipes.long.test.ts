import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startService } from '../../src/testing.js';
import { startRedis, stores } from '../support/processes/queue-stores.js';
import { serve, written } from '../support/serve.js';
import { makeFleet, passcode } from '../fleet/fleet.js';

// The recipes of docs/scale.md, as far as they are command lines (of the image: what its entry point is given): each part of a scheduler is run with
// its variables, and all parts together send every record once.

const page = readFileSync(fileURLToPath(new URL('../../docs/scale.md', import.meta.url)), 'utf8');

/** The text of the first block below a heading. */
function blockBelow(heading: string): string {
  const at = page.indexOf(`### ${heading}`);
  expect(at, heading).toBeGreaterThan(0);
  return /```\w+\n([^]*?)```/.exec(page.slice(at))?.[1] ?? '';
}

/** `[engagectl, upload, "5"]`, as YAML or JSON has it. */
const listed = (text: string): string[] =>
  text.split(',').map((word) => word.trim().replaceAll(/^"|"$/g, ''));

const recipes: readonly [
  heading: string,
  words: (block: string, index: number) => string[],
  env: (index: number) => Record<string, string>,
][] = [
  [
    'Kubernetes: an Indexed Job',
    (block) => listed(/args: \[(.*)\]/.exec(block)![1]!),
    (index) => ({ JOB_COMPLETION_INDEX: String(index) }),
  ],
  [
    'AWS Batch: an array job',
    (block) => listed(/"command":\[(.*?)\]/.exec(block)![1]!),
    (index) => ({ AWS_BATCH_JOB_ARRAY_INDEX: String(index), AWS_BATCH_JOB_ARRAY_SIZE: '5' }),
  ],
  [
    'Slurm: a job array',
    (block) => block.trim().split('\n').at(-1)!.split(' ').slice(1),
    (index) => ({
      SLURM_ARRAY_TASK_ID: String(index + 1),
      SLURM_ARRAY_TASK_COUNT: '5',
      SLURM_ARRAY_TASK_MIN: '1',
    }),
  ],
  [
    'GNU parallel, or a loop',
    (block, index) =>
      /engagectl .*? (?=:::)/
        .exec(block)![0]
        .trim()
        .replace('{}', String(index + 1))
        .split(' ')
        .slice(1),
    () => ({}),
  ],
];

it.each(recipes)('runs the recipe: %s', async (...[heading, words, env]) => {
  const { service, world } = await serve();
  const identities = Array.from({ length: 100 }, (_, n) => `user-${n}`);
  writeFileSync(world.path('users.csv'), ['identity', ...identities, ''].join('\n'));
  for (let index = 0; index < 5; index += 1) {
    const argv = words(blockBelow(heading), index);
    const { code, stderr } = await world.run(argv, { env: env(index) });
    expect(code, stderr).toBe(0);
  }
  const sent = written(service).flat();
  expect(sent).toHaveLength(100);
  expect(new Set(sent.map(({ identity }) => identity))).toEqual(new Set(identities));
});

describe.skipIf(!stores.some(({ name }) => name === 'Redis'))('the compose file', () => {
  it('runs Redis with persistence, workers and commands', async () => {
    const block = blockBelow('Redis and three workers with Docker Compose');
    const redis = listed(/command: \[(redis-server.*)\]/.exec(block)![1]!).join(' ');
    expect(redis).toContain('--appendonly yes --maxmemory-policy noeviction');
    expect(block).toContain('replicas: 3');
    const work = listed(/command: \[(fleet.*)\]/.exec(block)![1]!);
    await using store = await startRedis();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { world } = await makeFleet(store, service.url);
    const here = (word: string) => word.replaceAll('/data/', `${world.cwd}/`);
    writeFileSync(world.path('users.csv'), 'identity\nA\nB\nC\n');
    const stop = new AbortController();
    const workers = [1, 2, 3].map(async () => world.run(work.map(here), { signal: stop.signal }));
    const lines = page.matchAll(/^docker compose run --rm worker (.*)$/gm);
    for (const [, line = ''] of lines) {
      const words = here(line).split(' ');
      const { code, stderr } = await world.run(words);
      expect(code, stderr).toBe(0);
    }
    stop.abort();
    for (const { code } of await Promise.all(workers)) expect(code).toBe(0);
    expect(written(service).flat()).toHaveLength(3);
  });
});

import fs, {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { until } from './until.js';
import type { serve } from './serve.js';
import type { World } from './test-environment.js';

/** Lets a new run end without removing its folder, as if it were killed right before that. */
export async function withoutRemovalOfRun<T>(
  { stateDir }: Pick<World, 'stateDir'>,
  run: () => Promise<T>,
): Promise<T> {
  const { renameSync } = fs;
  const runs = path.join(stateDir, 'runs');
  const earlier = new Set(existsSync(runs) ? readdirSync(runs) : []);
  const renameWith = (rename: typeof renameSync) => {
    Object.assign(fs, { renameSync: rename });
    syncBuiltinESMExports();
  };
  renameWith((from, to) => {
    const name = path.basename(String(from));
    const isNewRun = path.dirname(String(from)) === runs && /^\d/.test(name) && !earlier.has(name);
    if (isNewRun) throw new Error('EBUSY');
    renameSync(from, to);
  });
  try {
    return await run();
  } finally {
    renameWith(renameSync);
  }
}

/**
 * Runs a command. With `kill`, what is on disk at the end is the state directory from when a request that a fault delays
 * waited for its answer: that of a killed process. The rejects files are those of that time, too, because a run that
 * ends puts a sorted one in place of its file. `isKilled`: there was such a request.
 */
export async function runOrKill(
  { world, service }: Awaited<ReturnType<typeof serve>>,
  argv: readonly string[],
  { stdin, kill }: { readonly stdin: string; readonly kill: boolean },
) {
  const isHit = () => service.requests().some(({ fault, ms }) => fault !== null && ms === null);
  let isOver = false;
  const running = world.run(argv, { stdin }).finally(() => (isOver = true));
  if (kill) await until(() => isOver || isHit());
  const isKilled = kill && !isOver && existsSync(world.stateDir);
  if (isKilled) {
    cpSync(world.stateDir, world.path('killed'), { recursive: true });
    mkdirSync(world.path('killed-rejects'));
    for (const name of rejectsIn(world)) linkSync(world.path(name), keptIn(world, name));
  }
  const result = await running;
  if (isKilled) {
    rmSync(world.stateDir, { recursive: true });
    renameSync(world.path('killed'), world.stateDir);
    for (const name of rejectsIn(world)) rmSync(world.path(name));
    for (const name of readdirSync(world.path('killed-rejects')))
      renameSync(keptIn(world, name), world.path(name));
    rmSync(world.path('killed-rejects'), { recursive: true });
  }
  return { ...result, isKilled };
}

const keptIn = (world: World, name: string) => world.path('killed-rejects', name);

const rejectsIn = (world: World) =>
  readdirSync(world.path('.')).filter((name) => /\.rejects\.\w+(?:\.\d+)?$/.test(name));

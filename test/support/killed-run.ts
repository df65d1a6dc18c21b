import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { until } from './until.js';
import type { serve } from './serve.js';

/**
 * Runs a command. With `kill`, what is on disk at the end is the state directory from when a request that a fault delays
 * waited for its answer: that of a killed process. `isKilled`: there was such a request.
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
  if (isKilled) cpSync(world.stateDir, world.path('killed'), { recursive: true });
  const result = await running;
  if (isKilled) {
    rmSync(world.stateDir, { recursive: true });
    renameSync(world.path('killed'), world.stateDir);
  }
  return { ...result, isKilled };
}

import { SimulatedDisk } from './simulated-disk.js';
import { runSchedule, type Mutation } from './simulated-fleet.js';

/** Runs the schedules of seeds until one breaks an invariant; returns its seed and error. */
export async function firstFailure(
  schedules: readonly number[],
  planted: readonly Mutation[] = [],
): Promise<string | undefined> {
  const disk = new SimulatedDisk();
  disk.install();
  for (const seed of schedules) {
    try {
      await runSchedule(seed, disk, planted);
    } catch (error) {
      return `seed ${seed}: ${(error as Error).message}`;
    }
  }
  return undefined;
}

import type { EngagectlError, ExitCode } from '../errors.js';
import type { Shard } from '../jobs/job-options.js';
import type { Ports } from '../jobs/ports.js';
import type { FleetRun } from './fleet-run.js';
import type { ShardProgress } from './shard-job.js';

/** A shard as whoever knows the commands performs it. */
export interface ShardPart {
  readonly run: FleetRun;
  readonly shard: Shard;
  /** All that it keeps and writes goes there. */
  readonly folder: string;
  readonly ports: Ports;
  /** Aborted when it is to stop; its reason is an EngagectlError. */
  readonly signal: AbortSignal;
  /** Is told once what says how far it is. */
  readonly begun: (progress: () => Omit<ShardProgress, 'worker'>) => void;
  /** Is told what came of it while its run is still open; what it throws is thrown. */
  readonly ended: (outcome: ShardOutcome) => void;
}

export interface ShardOutcome {
  /** All of it was worked through. */
  readonly done: boolean;
  readonly exitCode: ExitCode;
  readonly error: EngagectlError | undefined;
  readonly seconds: number;
  readonly figures: Readonly<Record<string, number>>;
  readonly rejectsFile: string | null;
  readonly output: string | null;
}

export type PerformShard = (part: ShardPart) => Promise<ShardOutcome>;

import type { EngagectlError } from '../../errors.js';
import type { Summary } from '../summary.js';

/** All that a report says about a run. */
export interface RunReport {
  readonly summary: Summary;
  /** What the run ended with. */
  readonly error: EngagectlError | undefined;
  /** The command that goes on with a run that is not finished. */
  readonly next: string | undefined;
  /** As it was typed, without the program's name. */
  readonly argv: readonly string[];
  /** Wall clock, milliseconds since 1970. */
  readonly ended: number;
  /** Earlier processes did a part of the run. */
  readonly resumed: boolean;
  readonly history: RunHistory;
  /** By kind: `service 515`, `parse`, … */
  readonly rejectKinds: ReadonlyMap<string, RejectKind>;
}

/** A run over time, in stretches of equal length. */
export interface RunHistory {
  readonly stretchMs: number;
  readonly milliseconds: number;
  readonly stretches: readonly Stretch[];
  /** Milliseconds; undefined where no request was made. */
  readonly latency:
    Readonly<Record<'mean' | 'p50' | 'p95' | 'p99' | 'slowest', number>> | undefined;
  readonly mostInFlight: number;
  readonly throttled: number;
  /** Failed attempts by what they failed with, e.g. `HTTP 503`. */
  readonly failures: ReadonlyMap<string, number>;
}

/** What came through and what ended in a stretch of the run. */
export type Stretch = Readonly<
  Record<
    'records' | 'requests' | 'latencyMs' | 'slowestMs' | 'mostInFlight' | 'throttled' | 'failed',
    number
  >
>;

/** Rejects of one kind, and the first few; `record` is the beginning of its JSON text. */
export interface RejectKind {
  readonly count: number;
  readonly samples: readonly {
    readonly source: string;
    readonly line: number;
    readonly error: string;
    readonly record?: string | undefined;
  }[];
}

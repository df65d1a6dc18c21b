import type { EngagectlError } from '../../errors.js';
import type { HistoryFigures, RejectKind } from '../../jobs/job-results.js';
import type { PiiSettings } from '../mask.js';
import type { Summary } from '../summary.js';

/** All that a report says about a run. */
export interface RunReport {
  readonly summary: Summary;
  /** What the run ended with. */
  readonly error: EngagectlError | undefined;
  /** The command that goes on with a run that is not finished. */
  readonly next: string | undefined;
  /** How the program was called. */
  readonly program: string;
  /** As it was typed, without the program's name. */
  readonly argv: readonly string[];
  /** Wall clock, milliseconds since 1970. */
  readonly ended: number;
  /** Earlier processes did a part of the run. */
  readonly resumed: boolean;
  readonly history: HistoryFigures;
  /** Whether people are shown whole. */
  readonly settings: PiiSettings;
  /** By kind: `service 515`, `parse`, … */
  readonly rejectKinds: ReadonlyMap<string, RejectKind>;
}

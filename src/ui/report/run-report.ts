import type { EngagectlError } from '../../errors.js';
import type { HistoryFigures, RejectKind } from '../../jobs/job-results.js';
import type { PiiSettings } from '../mask.js';
import type { Summary } from '../summary.js';

/** Everything that a report shows. */
export interface RunReport {
  readonly summary: Summary;
  /** The error that the run ended with. */
  readonly error: EngagectlError | undefined;
  /** Command that resumes an unfinished run. */
  readonly next: string | undefined;
  /** Program name as it was called. */
  readonly program: string;
  /** Command line as typed, without the program name. */
  readonly argv: readonly string[];
  /** Epoch milliseconds. */
  readonly ended: number;
  /** Whether the run is a resumed one. */
  readonly resumed: boolean;
  readonly history: HistoryFigures;
  /** Whether personal data is masked. */
  readonly settings: PiiSettings;
  /** Rejects by kind: `service 515`, `parse`, … */
  readonly rejectKinds: ReadonlyMap<string, RejectKind>;
}

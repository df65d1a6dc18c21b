import type { Budget } from '../bulk/adaptive-concurrency.js';
import type { OutcomeLog } from '../bulk/outcomes/outcome-log.js';

export type { Budget, OutcomeLog };
/** The budget of one process, for who fills the place with one that knows more. */
export { Gate } from '../bulk/adaptive-concurrency.js';

/** Places of the engine that somebody else may fill, for a job that is a part of something larger. */
export interface Ports {
  /** Who may have a request in flight. */
  readonly budget?: () => Budget;
  /** Where outcomes are committed; the run's own journal is handed in. */
  readonly outcomes?: (journal: OutcomeLog) => OutcomeLog;
  /** Asked before a page of an export is written. Throws when that is not this process's any more. */
  readonly fence?: () => void;
  /** Of a run that is nobody else's by a lease: it has this name, and takes no lock. */
  readonly leasedRun?: string;
}

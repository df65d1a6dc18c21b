import type { Database } from '../store/database.js';
import type { Alarms } from './alarms.js';
import type { CallRules } from './call-options.js';
import type { Directory } from './users.js';
import type { Turn } from './turn-transaction.js';

/** What the parts of a calling system work with. */
export interface CallWorld {
  readonly rules: CallRules;
  readonly store: Database;
  readonly turn: Turn;
  readonly directory: Directory;
  readonly alarms: Alarms;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

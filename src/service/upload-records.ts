import type { ProfileKey } from './profile-keys.js';
import type { Members } from './raw-json.js';

/** A checked profile record of endpoint 1. */
export interface ProfileRecord {
  readonly type: 'profile';
  readonly keys: readonly ProfileKey[];
  /** profileData; a value may be an operator. */
  readonly data: Members;
}

/** A checked event record of endpoint 1. */
export interface EventRecord {
  readonly type: 'event';
  readonly keys: readonly ProfileKey[];
  readonly name: string;
  /** Epoch seconds; undefined: the time of upload. */
  readonly ts: number | undefined;
  /** evtData as JSON text. */
  readonly props: string;
}

import type { FirstReject, RejectKind } from '../bulk/reject-samples.js';
import type { IdentitySurvey } from '../bulk/write/identities.js';
import type { IdentitySet } from '../bulk/write/identity-set.js';
import type { WriteEndpoint } from '../contract/endpoints.js';
import type { Inputs } from '../input/open.js';
import type { Mapper } from '../mapping/records.js';
import type { Zone } from '../zone.js';
import type { WriteOptions } from './job-options.js';
import type { RejectedRecord, WriteProgress, WriteResult } from './results.js';
import type { HistoryFigures } from './watched.js';

export type { FirstReject, RejectKind } from '../bulk/reject-samples.js';

/** What makes one write different from the others. */
export interface WriteKind {
  readonly name: WriteEndpoint;
  /** Column name of a bare list, where one is taken. */
  readonly listColumn?: string | undefined;
  /** Nothing is to be changed: nothing is sent (`check`), or as a rehearsal (`dryRun`). */
  readonly rehearsal: 'check' | 'dryRun' | undefined;
  /** All that decides what is sent, for a run that is resumed. */
  readonly meaning: unknown;
  /** What surrounds the records in a request body. */
  readonly frame: readonly [open: string, close: string];
  mapper(zone: Zone): Mapper;
  /** Identities that occurred, of which none is sent twice. */
  readonly seen?: IdentitySet;
  /** What is about to be done, found by reading the input once more. */
  survey?(inputs: Inputs): Promise<IdentitySurvey>;
}

/** What the command line may ask for besides. */
export interface WriteRequest extends WriteOptions {
  readonly files: readonly string[];
  /** The unfinished run that is meant, and no other. */
  readonly run?: string | undefined;
  /** False: keep nothing to resume from. */
  readonly journal: boolean;
}

/** Who asked for a write, and wants to be asked and told. */
export interface WriteHooks {
  /** Last chance to refuse, before the first request. */
  confirm?(about: WriteAbout): Promise<void>;
  /** Records are read from now on, those of the input `first` before others. */
  begun?(first: string, progress: () => WriteProgress): void;
  /** Is told of each record that was not accepted. */
  readonly rejected?: (record: RejectedRecord) => void;
  /** More is read when it resolves. */
  readonly ready?: () => Promise<void>;
  /** Note how the requests go. */
  readonly history?: boolean;
  /** Told what came of it while the run can still be kept; false keeps it, although it is done. */
  ended?(ending: WriteEnding): Promise<boolean>;
}

export interface WriteAbout {
  /** The input can be read only once. */
  readonly piped: boolean;
  readonly identities: IdentitySurvey | undefined;
}

export interface WriteEnding {
  readonly result: WriteResult;
  readonly firstRejects: readonly FirstReject[];
  readonly rejectKinds: ReadonlyMap<string, RejectKind>;
  /** Their file; `missing` are the lines that the disk did not take. */
  readonly rejects: { readonly path: string; readonly exists: boolean; readonly missing: number };
  readonly history: HistoryFigures | undefined;
  /** Earlier processes did a part of the run. */
  readonly wasResumed: boolean;
}

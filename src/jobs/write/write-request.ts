import type { IdentityCount, IdentitySet } from '../../bulk/write/deduplication.js';
import type { WriteEndpoint } from '../../contract/endpoints.js';
import type { Inputs } from '../../input/inputs.js';
import type { Mapper, RecordBlock } from '../../mapping/record-block.js';
import type { TimeZone } from '../../time-zone.js';
import type { WriteOptions, Rehearsal } from '../job-options.js';
import type { JobHooks, WriteResult } from '../job-results.js';
import type { Connection, JobContext } from '../job-context.js';

/** What makes one write different from the others. */
export interface WriteKind {
  readonly name: WriteEndpoint;
  /** Column name of a bare list, where one is taken. */
  readonly listColumn?: string | undefined;
  /** All that decides what is sent, for a run that is resumed. */
  readonly meaning: unknown;
  /** What surrounds the records in a request body. */
  readonly frame: readonly [open: string, close: string];
  mapper(zone: TimeZone): Mapper;
  /** Columns that say who a record is of. */
  readonly keys?: readonly string[];
  /** Of a whole input; fewer are not what was expected. */
  readonly minRecords?: number | undefined;
  /** Looks at what is mapped, for what is to be said of it. */
  remarks?(headers: readonly (readonly string[])[], isCheck: boolean): Remarks;
  /** Identities that occurred, of which none is sent twice. */
  readonly seen?: IdentitySet;
  /** What is about to be done, found by reading the input once more. */
  survey?(inputs: Inputs, mapper: Mapper): Promise<IdentityCount>;
}

/** What is said of an input. */
export interface InputWarning {
  readonly text: string;
  /** Identities and addresses in it. */
  readonly personal: readonly string[];
}

export interface Remarks {
  /** What is to be said of a block at once. */
  look(block: RecordBlock): readonly InputWarning[];
  /** What all of them together show, a sentence for each kind. */
  found(): readonly InputWarning[];
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
export interface WriteHooks extends JobHooks<WriteResult> {
  /** Last chance to refuse, before the first request. */
  confirm?(about: ConfirmPrompt): Promise<void>;
  /** More is read when it resolves. */
  readonly ready?: () => Promise<void>;
}

export interface ConfirmPrompt {
  /** The input can be read only once. */
  readonly piped: boolean;
  readonly identities: IdentityCount | undefined;
}

/** What a write is to do, and with what. */
export interface WriteContext {
  readonly kind: WriteKind;
  readonly request: WriteRequest;
  readonly world: JobContext;
  readonly hooks: WriteHooks;
  readonly rehearsal: Rehearsal | undefined;
  readonly inputs: Inputs;
  readonly connection: Connection | undefined;
  /** Most requests in flight. */
  readonly slots: number;
}

import { EngagectlError } from '../../errors.js';
import type { ConcurrencyLimiter } from '../../bulk/adaptive-concurrency.js';
import type { IdentityCount, IdentitySet } from '../../bulk/write/deduplication.js';
import type { WriteEndpoint } from '../../contract/endpoints.js';
import type { Inputs } from '../../input/inputs.js';
import type { Mapper, RecordBlock } from '../../mapping/record-block.js';
import type { QualityIssue } from '../../mapping/preview/findings.js';
import type { CellCleaning } from '../../text/cell-cleaning.js';
import type { TimeZone } from '../../time-zone.js';
import type { WriteOptions, Rehearsal } from '../job-options.js';
import type { JobHooks, WriteResult } from '../job-results.js';
import type { Connection, JobContext } from '../job-context.js';

/** Definition of a kind of write: upload, subscribe or demerge. */
export interface WriteKind {
  readonly name: WriteEndpoint;
  /** Column name of a bare list, if lists are accepted. */
  readonly listColumn?: string | undefined;
  /** Columns of which every table has one. */
  readonly keyColumns: readonly string[];
  /** Options that decide what is sent, whose fingerprint identifies a run. */
  readonly fingerprinted: Readonly<Record<string, unknown>> & {
    readonly limit: number | undefined;
  };
  /** Text before and after the records of a request body. */
  readonly frame: readonly [open: string, close: string];
  mapper(zone: TimeZone): Mapper;
  /** Returns how an earlier run read and mapped its inputs, by its `fingerprinted` options as JSON. */
  formOf?(options: Readonly<Record<string, unknown>>): Promise<RecordForm>;
  /** Columns that identify the user of a record. */
  readonly keys?: readonly string[];
  /** Minimum records of the whole input. */
  readonly minRecords?: number | undefined;
  /** Creates the checks for warnings about mapped records. */
  remarks?(isCheck: boolean): Remarks;
  /** Identities seen so far, to send each only once. */
  readonly seen?: IdentitySet;
  /** Counts the identities of the input, for the confirmation. Reads the input once more. */
  countIdentities?(inputs: Inputs, mapper: Mapper): Promise<IdentityCount>;
}

/** How a run made records of its inputs. */
export interface RecordForm {
  readonly cleaning: CellCleaning | undefined;
  /** Other options by which records and cells were found. */
  readonly reading: Readonly<Record<string, unknown>>;
  mapper(zone: TimeZone): Pick<Mapper, 'map'>;
}

/** A warning about an input. */
export interface InputWarning {
  readonly text: string;
  /** Identities and addresses in the text, for masking. */
  readonly personal: readonly string[];
}

/** A likely mistake in an input. */
export interface Hint extends QualityIssue {
  /** Whether another warning already reports it. */
  readonly isReported: boolean;
}

export interface Remarks {
  /** Returns warnings about a block, to be printed immediately. */
  look(block: RecordBlock): readonly InputWarning[];
  /** Returns the likely mistakes in all blocks. */
  found(): readonly Hint[];
}

/** Options of a write including those of the command line. */
export interface WriteRequest extends WriteOptions {
  readonly files: readonly string[];
  /** Id of the only run to resume. */
  readonly run?: string | undefined;
  /** False keeps no journal; the run cannot be resumed. */
  readonly journal: boolean;
}

/** Returns the files that a write reads. */
export const readFilesOf = ({
  files,
  mapping,
}: WriteRequest & { readonly mapping?: string }): readonly string[] =>
  mapping === undefined ? files : [...files, mapping];

/** Returns the time zone of a write, if it decides the times of records. UTC is left out, as in earlier versions. */
export const zoneOf = (
  { name }: WriteKind,
  { zone }: Connection,
): { readonly timezone?: string } =>
  name !== 'upload' || zone.name === 'UTC' ? {} : { timezone: zone.name };

/** Returns the name that identifies the input of a run from a pipe. */
export const pipeName = ({ runName }: Pick<WriteRequest, 'runName'>): string =>
  `stdin (${runName})`;

/** Throws E-USAGE if a run that reads files has a run name. */
export function refuseFiles({ names, totalBytes }: Inputs, { words }: JobContext): void {
  if (names.length === 1 && totalBytes === undefined) return;
  throw new EngagectlError('E-USAGE', `${words.option('runName')} requires input from one pipe`, {
    why: 'a run from files is identified by the file names',
    fix: `omit ${words.option('runName')}, or read only standard input`,
  });
}

/** Callbacks of a write. */
export interface WriteHooks extends JobHooks<WriteResult> {
  /** Called before the first request. Returns whether a person was asked; throws to cancel. */
  confirm?(about: ConfirmPrompt): Promise<boolean>;
  /** Awaited before each further block of input. */
  readonly ready?: () => Promise<void>;
}

export interface ConfirmPrompt {
  /** The input is a pipe and can be read only once. */
  readonly piped: boolean;
  readonly identities: IdentityCount | undefined;
}

/** Everything a running write works with. */
export interface WriteContext {
  readonly kind: WriteKind;
  readonly request: WriteRequest;
  readonly context: JobContext;
  readonly hooks: WriteHooks;
  readonly rehearsal: Rehearsal | undefined;
  readonly inputs: Inputs;
  /** Opens the same inputs, to read them once more. */
  readonly reopen: () => Promise<Inputs>;
  readonly connection: Connection | undefined;
  readonly limiter: ConcurrencyLimiter;
}

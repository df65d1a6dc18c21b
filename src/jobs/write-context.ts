import type { IdentitySet } from '../bulk/write/identity-set.js';
import type { WriteJob } from '../bulk/write/write-job.js';
import type { Client } from '../client/client.js';
import type { Zone } from '../zone.js';
import type { Inputs } from '../input/open.js';
import type { Mapper } from '../mapping/records.js';
import type { Runtime } from '../runtime.js';
import type { Messages } from '../ui/messages.js';
import type { Connection } from '../commands/connect.js';
import type { Settings } from '../commands/settings.js';
import type { Report } from '../commands/report.js';
import type { WriteFlags } from '../commands/write-options.js';

/** What makes one write command different from the others. */
export interface WriteCommand {
  readonly name: 'upload' | 'subscribe' | 'demerge';
  readonly files: readonly string[];
  readonly flags: WriteFlags;
  /** Column name of a bare list, where the command takes one. */
  readonly listColumn?: string;
  /** Read and validate only: no connection is made. */
  readonly checkOnly: boolean;
  /** Keep no journal: nothing is changed that would have to be done once. */
  readonly dryRun?: boolean;
  /** All options that decide what is sent, for a run that is resumed. */
  readonly meaning: unknown;
  readonly endpoint: string;
  /** What surrounds the records in a request body. */
  readonly frame: readonly [open: string, close: string];
  mapper(zone: Zone): Mapper;
  send(client: Client): WriteJob['send'];
  readonly seen?: IdentitySet;
  /** Last chance to refuse, before the first request. */
  confirm?(connection: Connection, again: InputsAgain): Promise<void>;
}

/** Opens the inputs once more; undefined where they can be read only once. */
export type InputsAgain = (() => Promise<Inputs>) | undefined;

/** What a run of a write command works with. */
export interface WriteContext {
  readonly command: WriteCommand;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly said: Messages;
  readonly inputs: Inputs;
  readonly connection: Connection | undefined;
  readonly report: Report | undefined;
}

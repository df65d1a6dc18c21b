import type { Inputs } from '../../input/open.js';
import type { Rehearsal } from '../job-options.js';
import type { Connection, World } from '../world.js';
import type { WriteHooks, WriteKind, WriteRequest } from './write-request.js';

/** What a write is to do, and with what. */
export interface Writing {
  readonly kind: WriteKind;
  readonly request: WriteRequest;
  readonly world: World;
  readonly hooks: WriteHooks;
  readonly rehearsal: Rehearsal | undefined;
  readonly inputs: Inputs;
  readonly connection: Connection | undefined;
  /** Most requests in flight. */
  readonly slots: number;
}

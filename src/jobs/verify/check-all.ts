import type { LookUpContext } from '../../bulk/look-up.js';
import type { Client } from '../../client/client.js';
import type { Connection, World } from '../world.js';
import { checkEvents } from './check-events.js';
import { checkFound } from './check-found.js';
import { compareAddress } from './compare-address.js';
import { compareUser } from './compare-user.js';
import type { SentInput } from './read-sent.js';
import { untold, type Verdict } from './verdict.js';

/** What checks need to ask the service. */
export interface Checking extends LookUpContext {
  readonly client: Client;
  readonly sent: SentInput;
  readonly world: World;
  readonly connection: Connection;
  /** Reads the events of the input once more. */
  readonly readAgain: () => Promise<void>;
  /** Milliseconds in which what differs is looked at again. */
  readonly within: number;
  readonly pendingTimeout: number | undefined;
  readonly concurrency: number;
}

const users = {
  what: 'users',
  unfindable: 'users of another key than identity or objectId',
  compare: compareUser,
  isOpen: ({ differences }: Verdict) => differences.length > 0,
} as const;

const addresses = {
  what: 'addresses',
  unfindable: 'numbers of rows without identity: users are not found by their number',
  compare: compareAddress,
  isOpen: ({ verdict }: Verdict) => verdict !== 'same',
} as const;

/** Everything that can be found out, and what cannot. */
export async function* checkAll(checking: Checking): AsyncGenerator<Verdict> {
  const { sent, readAgain } = checking;
  for (const { record, why } of sent.untold) yield untold('events', [record], why);
  yield* checkFound(sent.users.values(), users, checking);
  yield* checkFound(sent.addresses.values(), addresses, checking);
  yield* checkEvents(sent.events, checking);
  while (sent.events.turn()) {
    await readAgain();
    yield* checkEvents(sent.events, checking);
  }
}

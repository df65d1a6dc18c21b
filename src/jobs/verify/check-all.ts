import { Gate } from '../../bulk/gate.js';
import type { Client } from '../../client/client.js';
import type { Waits } from '../../client/waits.js';
import type { Connection, World } from '../world.js';
import { checkEvents } from './check-events.js';
import { checkFound } from './check-found.js';
import { compareAddress } from './compare-address.js';
import { compareUser } from './compare-user.js';
import type { SentInput } from './read-sent.js';
import { untold, type Verdict } from './verdict.js';

export interface Checking {
  readonly sent: SentInput;
  readonly world: World;
  readonly connection: Connection;
  /** The connection's, or one that is watched. */
  readonly client: Client;
  readonly waits: Waits;
  readonly counts: { requests: number; retries: number };
  /** Reads the events of the input once more. */
  readonly readAgain: () => Promise<void>;
  /** Milliseconds. */
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
  const { sent, world, connection, client, waits, counts, readAgain } = checking;
  const { within, pendingTimeout, concurrency } = checking;
  for (const { record, why } of sent.untold) yield untold('events', [record], why);
  const { runtime } = world;
  const { policy } = connection;
  const budget = new Gate(concurrency);
  const looking = { client, policy, runtime, waits, counts, budget, within };
  yield* checkFound(sent.users.values(), users, looking);
  yield* checkFound(sent.addresses.values(), addresses, looking);
  const watched = { ...connection, client };
  const exporting = { world, connection: watched, counts, within, pendingTimeout, concurrency };
  yield* checkEvents(sent.events, exporting);
  while (sent.events.turn()) {
    await readAgain();
    yield* checkEvents(sent.events, exporting);
  }
}

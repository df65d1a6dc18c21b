import { Gate } from '../../bulk/gate.js';
import type { Client } from '../../client/client.js';
import type { Waits } from '../../client/waits.js';
import type { Connection, World } from '../world.js';
import { checkAddresses } from './check-addresses.js';
import { checkEvents } from './check-events.js';
import { checkUsers } from './check-users.js';
import type { SentInput } from './read-sent.js';
import type { Verdict } from './verdict.js';

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

/** Everything that can be found out, and what cannot. */
export async function* checkAll(checking: Checking): AsyncGenerator<Verdict> {
  const { sent, world, connection, client, waits, counts, readAgain } = checking;
  const { within, pendingTimeout, concurrency } = checking;
  for (const { record, why } of sent.untold) {
    const about = { what: 'events', count: 1, records: [record] } as const;
    yield { ...about, verdict: 'untold', differences: [], untold: [why], foldedKeys: 0 };
  }
  const { runtime } = world;
  const { policy } = connection;
  const budget = new Gate(concurrency);
  const looking = { client, policy, runtime, waits, counts, budget, within };
  yield* checkUsers(sent.users.values(), looking);
  yield* checkAddresses(sent.addresses.values(), looking);
  const watched = { ...connection, client };
  const exporting = { world, connection: watched, counts, within, pendingTimeout, concurrency };
  yield* checkEvents(sent.events, exporting);
  while (sent.events.turn()) {
    await readAgain();
    yield* checkEvents(sent.events, exporting);
  }
}

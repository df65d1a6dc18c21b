import { EngagectlError } from '../errors.js';
import { FleetLists } from './account-queue.js';
import { answered, loadPeer, mayForget, type QueueStore } from './queue-store.js';

/** What was found of a store. */
export interface StoreCheck {
  readonly store: string;
  readonly version: string;
  readonly lanes: number;
}

/**
 * Makes sure that a store can hold a fleet: it answers, has the tables, and forgets nothing. Throws
 * E-UNAVAILABLE, E-CONFIG.
 */
export async function checkStore(store: QueueStore, url: string): Promise<StoreCheck> {
  const lanes = await answered(store, async () => new FleetLists(store).lanes());
  const version = await answered(store, async () =>
    store.kind === 'Redis' ? ofRedis(url) : ofPostgres(url),
  );
  return { store: `${store.kind} at ${store.shown}`, version, lanes: lanes.length };
}

async function ofRedis(url: string): Promise<string> {
  const { Redis } = await loadPeer('ioredis', async () => import('ioredis'));
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  client.on('error', () => undefined); // the command that fails says it
  try {
    const info = await client.info();
    const said = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
    const policy = said('maxmemory_policy');
    if (policy !== 'noeviction' && policy !== '') {
      throw new EngagectlError('E-CONFIG', mayForget(policy), {
        why: 'what it throws away is not done, and nobody is told',
        fix: 'set maxmemory-policy noeviction, by redis-cli config set or in its configuration',
      });
    }
    return said('redis_version');
  } finally {
    client.disconnect();
  }
}

async function ofPostgres(url: string): Promise<string> {
  const { default: pg } = await loadPeer('pg', async () => import('pg'));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
    return rows[0]?.server_version ?? '';
  } finally {
    await client.end();
  }
}

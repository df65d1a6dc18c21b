import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { until } from '../until.js';

/** A store of a test's own, on a free port, its data in a temporary folder. */
export interface TestStore {
  readonly url: string;
  /** Data directory. */
  readonly folder: string;
  /** Kills the process without notice (SIGKILL). */
  kill(): Promise<void>;
  /** Restarts with the same data on the same port. */
  start(): Promise<void>;
  /** Without them. */
  wipe(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const redisServer = '/usr/bin/redis-server';

/** Path on Debian, the newest version first; undefined if it is not installed. */
function postgresFolder(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root) : [];
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : path.join(root, newest, 'bin');
}

/** Stores that can be started on this machine; prints a note about missing ones. */
export const stores = (
  [
    ['Redis', existsSync(redisServer) && startRedis],
    ['PostgreSQL', postgresFolder() !== undefined && startPostgres],
  ] as const
).flatMap(([name, start]) => {
  if (start) return [{ name, start }];
  process.stderr.write(`SKIPPED: the fleet on ${name}, which is not installed here\n`);
  return [];
});

export async function startRedis(): Promise<TestStore> {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-redis-'));
  const port = await freePort();
  const flags = {
    port,
    dir: folder,
    appendonly: 'yes',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const argv = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return storeOf({
    url: `redis://127.0.0.1:${port}`,
    folder,
    isReady: async () => worksIn(folder, port),
    spawned: () => spawn(redisServer, argv, { stdio: 'ignore' }),
    wipe: async () => rmSync(path.join(folder, 'appendonlydir'), { recursive: true, force: true }),
  });
}

/** PostgreSQL does not run as root: it gets the user that nobody is. */
export async function startPostgres(): Promise<TestStore> {
  const bin = postgresFolder()!;
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-postgres-'));
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
  if (isRoot) chownSync(folder, 65_534, 65_534);
  const data = path.join(folder, 'data');
  const port = await freePort();
  const initialize = async () => {
    const argv = ['-D', data, '-A', 'trust', '-U', 'fleet', '--no-sync', '--no-instructions'];
    const env = { ...process.env, LC_ALL: 'C' };
    await once(spawn(path.join(bin, 'initdb'), argv, { ...user, env, stdio: 'ignore' }), 'exit');
  };
  await initialize();
  const argv = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'];
  const url = `postgres://fleet@127.0.0.1:${port}/postgres`;
  return storeOf({
    url,
    folder,
    isReady: async () => answers(url, data),
    spawned: () => spawn(path.join(bin, 'postgres'), argv, { ...user, stdio: 'ignore' }),
    wipe: async () => {
      rmSync(data, { recursive: true, force: true });
      await initialize();
    },
  });
}

interface StoreProcess {
  readonly url: string;
  readonly folder: string;
  readonly isReady: () => Promise<boolean>;
  readonly spawned: () => ChildProcess;
  readonly wipe: () => Promise<void>;
}

async function storeOf({ url, folder, isReady, spawned, wipe }: StoreProcess): Promise<TestStore> {
  let child: ChildProcess;
  const start = async () => {
    child = spawned();
    await until(async () => child.exitCode !== null || (await isReady()), {
      message: `${url} accepts connections`,
    });
    if (child.exitCode !== null) throw new Error(`${url} does not start`);
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    url,
    folder,
    kill,
    start,
    wipe: async () => {
      await kill();
      await wipe();
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Returns a free port below those that a system gives to servers that ask for any: until the store listens, and while it
 * is down, such a server of another test would take its place.
 */
async function freePort(): Promise<number> {
  const port = randomInt(10_000, 30_000);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  server.close();
  await once(server, 'close');
  return port;
}

/** Whether the Redis of this folder answers, not another process on its port. It may listen before it has loaded its data. */
const worksIn = async (folder: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => void socket.write('CONFIG GET dir\r\n'));
    socket.once('data', (answer) => {
      socket.destroy();
      resolve(answer.toString().split('\r\n').includes(folder));
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.setTimeout(1000, () => socket.destroy());
  });

async function answers(connectionString: string, data: string): Promise<boolean> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    return rows[0]?.data_directory === data;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

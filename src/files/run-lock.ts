import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EngagectlError } from '../errors.js';

/** Held until `release`, or until the process is gone, however it went. */
export interface RunLock {
  release(): Promise<void>;
}

/**
 * Lets one process at a time work on a run. The lock is a listening socket, which the kernel
 * takes away with its process: no pid that could be reused, nothing to break after a crash.
 * `name` says which run it is: other names are other locks. Throws E-RUN-LOCKED.
 */
export async function lockRun(name: string): Promise<RunLock> {
  const address = addressOf(name);
  const lock = (await tryListen(address)) ?? (await takeOver(address));
  if (lock) return lock;
  throw new EngagectlError('E-RUN-LOCKED', 'another process is working on this run', {
    why: 'the same command was started for the same account and files',
    fix: 'wait until it is done',
  });
}

/** Linux: an abstract name, which leaves nothing behind. Elsewhere: a pipe or a socket file. */
function addressOf(run: string): string {
  const name = `engagectl-${createHash('sha256').update(run).digest('hex').slice(0, 32)}`;
  if (process.platform === 'linux') return `\0${name}`;
  if (process.platform === 'win32') return `\\\\.\\pipe\\${name}`;
  return path.join(tmpdir(), `${name}.sock`);
}

async function tryListen(address: string): Promise<RunLock | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(address, () =>
      resolve({ release: async () => new Promise((done) => server.close(() => done())) }),
    );
  });
}

/** A socket file may have outlived its process: then nobody answers, and it is removed. */
async function takeOver(address: string): Promise<RunLock | undefined> {
  const isFile = path.isAbsolute(address) && process.platform !== 'win32';
  if (!isFile || (await answers(address))) return undefined;
  await rm(address, { force: true });
  return tryListen(address);
}

async function answers(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

// Exports of `engagectl/calling/node`: the environment of the SDK in Node.

import path from 'node:path';
import process from 'node:process';
import { randomUUID } from 'node:crypto';
import { constants, lstat, mkdir, open, writeFile } from 'node:fs/promises';
import type { SignedCallEnv, SocketClass } from '../environment.js';

export { nodeVoice, type NodeVoiceOptions } from './voice.js';
export { readWav, writeWav, type Sound } from './wav.js';

export interface NodeEnv extends SignedCallEnv {
  /**
   * File that keeps the device id, a UUID, across restarts; created with its directory if missing. Symbolic links, and
   * files of other users but root, are refused.
   */
  readonly deviceIdFile?: string;
  /** Certificate authority of the router, PEM. */
  readonly ca?: string;
}

/**
 * Adds sockets of the package `ws` and a persistent device id to an environment. Rejects if the file of the device
 * id cannot be read or written, or is refused.
 */
export async function nodeEnv({ deviceIdFile, ca, ...env }: NodeEnv): Promise<SignedCallEnv> {
  const deviceId = env.deviceId ?? (deviceIdFile && (await readDeviceId(deviceIdFile)));
  return {
    ...env,
    WebSocket: env.WebSocket ?? (await socketClass(ca)),
    ...(deviceId ? { deviceId } : {}),
  };
}

async function socketClass(ca: string | undefined): Promise<SocketClass> {
  const { WebSocket } = await import('ws');
  return class extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { maxPayload, ...(ca !== undefined && { ca }) });
    }
  };
}

/** Maximum bytes of a frame, far above those of the router. */
const maxPayload = 1024 * 1024;

/** Returns the device id of a file; creates it, and its directory, if missing. */
async function readDeviceId(file: string): Promise<string> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  if (found.isSymbolicLink()) refuseForeign(found, 'its folder is a symbolic link');
  try {
    await writeFile(file, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const text = await readOwnFile(file);
  if (text === '') throw new Error(`${file} is empty: remove it to create a new device id`);
  const deviceId = text.trim();
  if (!isDeviceId.test(deviceId)) throw new Error('it does not contain a device id');
  return deviceId;
}

/** The form of those that are created here: any other text may be a secret that somebody linked there. */
const isDeviceId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** A router accepts no longer ids. */
const longestDeviceId = 128;

/** Windows has no such flag, and opens links. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Reads the start of a regular file of the process's user or root: neither links nor the files of others are read. */
async function readOwnFile(name: string): Promise<string> {
  // O_NONBLOCK: the writer of a FIFO is not waited for.
  const file = await open(name, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error('it is not a regular file');
    refuseForeign(found, 'it is a file');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(longestDeviceId));
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

function refuseForeign({ uid }: { readonly uid: number }, what: string): void {
  const own = process.geteuid?.();
  if (own === undefined || uid === own || uid === 0) return;
  throw new Error(`${what} of another user (uid ${uid})`);
}

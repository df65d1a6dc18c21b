// What `engagectl/calling/node` exports: what Node has to give to the SDK.

import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { SignedCallEnv, SocketClass } from '../environment.js';

export { nodeVoice, type NodeVoiceOptions } from './voice.js';
export { readWav, writeWav, type Sound } from './wav.js';

export interface NodeEnv extends SignedCallEnv {
  /** Keeps the device id over starts of the program. Made, with its folder, when it is not there. */
  readonly deviceIdFile?: string;
  /** The certificate of a router with one of its own, PEM. */
  readonly ca?: string;
}

/**
 * What the SDK takes from Node: sockets of the package `ws`, which does what browsers do and tells of a dead
 * connection sooner, and a device id on disk. Everything else is as given.
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
  if (ca === undefined) return WebSocket;
  return class extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { ca });
    }
  };
}

async function readDeviceId(file: string): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const deviceId = (await readFile(file, 'utf8')).trim();
  if (deviceId === '') throw new Error(`${file} is empty: remove it, and a new device id is made`);
  return deviceId;
}

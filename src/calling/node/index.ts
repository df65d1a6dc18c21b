// Exports of `engagectl/calling/node`: the environment of the SDK in Node.

import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { constants, mkdir, readFile, writeFile } from 'node:fs/promises';
import type { SignedCallEnv, SocketClass } from '../environment.js';

export { nodeVoice, type NodeVoiceOptions } from './voice.js';
export { readWav, writeWav, type Sound } from './wav.js';

export interface NodeEnv extends SignedCallEnv {
  /** File that keeps the device id across restarts; created with its directory if missing. */
  readonly deviceIdFile?: string;
  /** Certificate authority of the router, PEM. */
  readonly ca?: string;
}

/**
 * Adds sockets of the package `ws` and a persistent device id to an environment. Rejects if the file of the device
 * id cannot be read or written.
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

async function readDeviceId(file: string): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // O_NONBLOCK: a FIFO is empty, and not waited for.
  const flag = constants.O_RDONLY | constants.O_NONBLOCK;
  const deviceId = (await readFile(file, { encoding: 'utf8', flag })).trim();
  if (deviceId === '') throw new Error(`${file} is empty: remove it to create a new device id`);
  return deviceId;
}

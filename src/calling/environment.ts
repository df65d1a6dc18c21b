import { systemClock, type Clock } from './client-clock.js';
import { devicePresets, type DeviceCapabilities } from './device.js';
import { Logger } from './logger.js';
import { noMedia, type MediaAdapter } from './media.js';
import type { ErrorName } from './errors.js';
import type { Platform } from './protocol.js';
import type { SocketClass } from './socket-class.js';

/** All that the SDK takes from outside. */
export interface SignedCallEnv {
  /** The router's address: ws, wss, http or https. */
  readonly url: string;
  /** "An active instance of the core SDK": any object that knows its account. */
  readonly core: { readonly accountId: string } | null | undefined;
  /** The platform's own by default. Node 20 has none: see `engagectl/calling/node`. */
  readonly WebSocket?: SocketClass;
  /** No voice by default. */
  readonly media?: MediaAdapter;
  /** One that allows everything by default. */
  readonly device?: DeviceCapabilities;
  /** Whose rules and numbers of errors apply; android by default. */
  readonly platform?: Platform;
  /** The same at each start of the app, so that waiting calls are found; random by default. */
  readonly deviceId?: string;
  readonly clock?: Clock;
  /** From 0 up to 1. */
  readonly random?: () => number;
  /** Takes lines; the console by default. */
  readonly log?: (line: string) => void;
  readonly times?: Partial<ClientTimes>;
  /** Told when the router does not let a client back that was initialized: it does not come back by itself. */
  readonly onRefused?: (errorName: ErrorName) => void;
}

/** Milliseconds of the client's waits; tests take a hundredth of them. */
export interface ClientTimes {
  /** For a socket to open, and for a frame's answer. */
  readonly answer: number;
  /** For the answer to the placement of a call. */
  readonly placement: number;
  /** For the answer to the probe before a call. */
  readonly latency: number;
  /** Between two looks whether the router still answers. */
  readonly ping: number;
  /** How fast waits before reconnecting pass: 1 is the real pace, 0.01 a hundredth of the wait. */
  readonly reconnectScale: number;
}

const usualTimes: ClientTimes = {
  answer: 8000,
  placement: 10_000,
  latency: 2000,
  ping: 10_000,
  reconnectScale: 1,
};

/** The environment with nothing left out, but for what a platform may not have. */
export interface Environment extends Required<Omit<SignedCallEnv, 'core' | 'WebSocket' | 'log'>> {
  readonly core: NonNullable<SignedCallEnv['core']> | undefined;
  readonly WebSocket: SocketClass | undefined;
  readonly log: Logger;
  readonly times: ClientTimes;
}

export function environmentOf(env: SignedCallEnv): Environment {
  const { platform = 'android', random = Math.random } = env;
  return {
    url: env.url,
    core: env.core ?? undefined,
    WebSocket: env.WebSocket ?? (globalThis as { WebSocket?: SocketClass }).WebSocket,
    media: env.media ?? noMedia,
    device: env.device ?? devicePresets.allowAll,
    platform,
    deviceId: env.deviceId ?? randomId(random),
    clock: env.clock ?? systemClock,
    random,
    // oxlint-disable-next-line no-console -- where the developer of an app looks
    log: new Logger(env.log ?? console.info, platform),
    times: { ...usualTimes, ...env.times },
    onRefused: env.onRefused ?? (() => undefined),
  };
}

const randomId = (random: () => number): string =>
  Array.from({ length: 20 }, () => Math.floor(random() * 36).toString(36)).join('');

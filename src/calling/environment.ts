import { Device, devicePresets, type DeviceCapabilities, type TimeLimit } from './device.js';
import { Logger } from './logger.js';
import type { ErrorName } from './errors.js';
import type { IceServer, Platform } from './protocol.js';

/** Environment of a client: the router's address, and what the SDK needs from the platform. */
export interface SignedCallEnv {
  /**
   * Address of the router: wss or https; ws and http for loopback only, and on Android for 10.0.2.2, the host of the
   * emulator. For any other, and for one with a user name or password, `initialize` resolves with INIT_CONFIG.
   */
  readonly url: string;
  /** The "active instance of the core SDK" of the specification: any object with an account id. */
  readonly core: { readonly accountId: string } | null | undefined;
  /** Default: the platform's WebSocket. Node 20 has none; see `engagectl/calling/node`. */
  readonly WebSocket?: SocketClass;
  /** Default: no voice. */
  readonly media?: MediaAdapter;
  /** Default: a device that grants every permission. */
  readonly device?: DeviceCapabilities;
  /** Selects the validation rules and error codes; default: android. */
  readonly platform?: Platform;
  /** Must be the same at each start of the app, to receive calls that wait at the router. Default: random. */
  readonly deviceId?: string;
  readonly clock?: Clock;
  /** Returns a random number in [0, 1). */
  readonly random?: () => number;
  /** Receives log lines; default: `console.info`. */
  readonly log?: (line: string) => void;
  readonly times?: Partial<ClientTimes>;
  /**
   * Returns a token of your backend for the cuid, where the router requires one. Called for each socket, so that the
   * token is fresh; if it throws, or does not settle within the answer timeout, the client tries again as without a
   * network.
   */
  readonly token?: () => string | Promise<string>;
  /** Called when the router rejects a reconnect; the client stays disconnected until `initialize`. */
  readonly onRefused?: (errorName: ErrorName) => void;
  /**
   * Subscribes to the platform's news that the network is back; returns a function that unsubscribes. A client that
   * is disconnected then reconnects at once. Default: the event `online` of browsers.
   */
  readonly onOnline?: (reconnect: () => void) => () => void;
}

/** Timeouts and intervals of the client in milliseconds. */
export interface ClientTimes {
  /** Timeout for opening a socket, and for the answer to a frame. */
  readonly answer: number;
  /** Timeout for the answer to the placement of a call. */
  readonly placement: number;
  /** Timeout for the answer to the probe before a call. */
  readonly latency: number;
  /** Interval of the probes that detect a dead connection. */
  readonly ping: number;
  /** Factor of the delays before reconnecting; default: 1. */
  readonly reconnectScale: number;
  /** Interval in which the network quality of a call is measured. */
  readonly quality: number;
}

const defaultTimes: ClientTimes = {
  answer: 8000,
  placement: 10_000,
  latency: 2000,
  ping: 10_000,
  reconnectScale: 1,
  quality: 2000,
};

/** Environment with all defaults applied. */
export interface Environment extends Required<
  Omit<SignedCallEnv, 'core' | 'WebSocket' | 'log' | 'device' | 'token'>
> {
  readonly token: SignedCallEnv['token'] | undefined;
  readonly core: NonNullable<SignedCallEnv['core']> | undefined;
  readonly WebSocket: SocketClass | undefined;
  readonly log: Logger;
  readonly device: Device;
  readonly times: ClientTimes;
  /** Rejects if the app does not answer within the answer timeout, so that it cannot hold up the client. */
  readonly inTime: TimeLimit;
  /** Returns a random hexadecimal string that is used only once. */
  readonly nonce: () => string;
}

export function withDefaults(env: SignedCallEnv): Environment {
  const { platform = 'android', random = Math.random } = env;
  // oxlint-disable-next-line no-console -- app developers look for log lines there
  const log = new Logger(env.log ?? console.info, platform);
  const clock = env.clock ?? systemClock;
  const times = { ...defaultTimes, ...env.times };
  const inTime = timeLimit(clock, times.answer);
  return {
    url: env.url,
    core: env.core ?? undefined,
    WebSocket: env.WebSocket ?? (globalThis as { WebSocket?: SocketClass }).WebSocket,
    media: env.media ?? noMedia,
    device: new Device(env.device ?? devicePresets.allowAll, platform, log, inTime),
    platform,
    deviceId: env.deviceId ?? randomId(random),
    clock,
    random,
    log,
    times,
    inTime,
    token: env.token,
    onRefused: env.onRefused ?? (() => undefined),
    onOnline: env.onOnline ?? browserOnline,
    nonce: () => nonceOf(random),
  };
}

const timeLimit =
  (clock: Clock, milliseconds: number): TimeLimit =>
  (answer) =>
    new Promise((resolve, reject) => {
      const late = () => reject(new Error(`no answer in ${milliseconds} ms`));
      const stop = clock.after(milliseconds, late);
      void Promise.resolve(answer).then(resolve, reject).finally(stop);
    });

function browserOnline(reconnect: () => void): () => void {
  const { addEventListener, removeEventListener } = globalThis as Partial<{
    addEventListener(type: 'online', listener: () => void): void;
    removeEventListener(type: 'online', listener: () => void): void;
  }>;
  // React Native and Node have no such event.
  addEventListener?.('online', reconnect);
  return () => removeEventListener?.('online', reconnect);
}

/** Uses WebCrypto where available; React Native has it only with a polyfill. */
function nonceOf(random: () => number): string {
  const bytes = new Uint8Array(16).map(() => Math.floor(random() * 256));
  const { crypto } = globalThis as { crypto?: { getRandomValues(bytes: Uint8Array): unknown } };
  crypto?.getRandomValues(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const randomId = (random: () => number): string =>
  Array.from({ length: 20 }, () => Math.floor(random() * 36).toString(36)).join('');

/** Clock and timers, injected by tests and other platforms. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs a function once after a delay; returns a function that cancels it. */
  after(milliseconds: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Subset of WebSocket that the SDK uses, provided by browsers, React Native, Node 22 and the package `ws`. */
export interface Socket {
  addEventListener(type: 'open', listener: () => void): void;
  /** Browsers give no message. */
  addEventListener(type: 'error', listener: (event: { readonly message?: string }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code?: number }) => void): void;
  send(text: string): void;
  close(code?: number): void;
  /** Ends the connection without a closing handshake. Only `ws` has it. */
  terminate?(): void;
}

export type SocketClass = new (url: string, protocols: string[]) => Socket;

/** Options of a media session. The router forwards signals to the other side unchanged. */
export interface MediaOptions {
  /** The initiator creates the offer. */
  readonly role: 'initiator' | 'receiver';
  /** Sends a JSON value of at most 64 KiB as text. */
  readonly sendSignal: (payload: unknown) => void;
  /** Registers the handler of the other side's signals. Earlier signals are delivered at once. */
  readonly onSignal: (handler: (payload: unknown) => void) => void;
  /** Returns the ICE servers of the router, with credentials for this call; empty if it has none. */
  readonly iceServers: () => Promise<readonly IceServer[]>;
}

export interface MediaSession {
  /** Resolves when media is connected; if it rejects, the call is hung up. */
  readonly connected: Promise<void>;
  /** Sends silence in place of the microphone, without renegotiation. */
  setMuted(isMuted: boolean): void;
  /** Counts what was transported so far. Without it, the network quality of calls is unknown. */
  stats?(): Promise<CallStats>;
  /** Releases the microphone and the connection. */
  close(): void;
}

/** Figures of a call's voice since its start. */
export interface CallStats {
  readonly packetsSent: number;
  readonly packetsReceived: number;
  /** Packets of the other side that did not arrive. */
  readonly packetsLost: number;
  /** Variation of the packets' travel time. */
  readonly jitterMs: number;
  /** Time to the other side and back; undefined until it is measured. */
  readonly roundTripMs: number | undefined;
}

export interface MediaAdapter {
  /** Opens the media session of an answered call. */
  open(options: MediaOptions): Promise<MediaSession>;
}

/** Media adapter without voice: an answered call is in progress at once. */
export const noMedia: MediaAdapter = {
  open: () =>
    Promise.resolve({
      connected: Promise.resolve(),
      setMuted: () => undefined,
      close: () => undefined,
    }),
};

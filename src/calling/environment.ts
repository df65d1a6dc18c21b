import type { ErrorName, CallFault } from './errors.js';
import type { Platform, CallDetails, MissedCallActions } from './protocol.js';

/** All that the SDK takes from outside. */
export interface SignedCallEnv {
  /**
   * The router's address: wss or https, or ws or http of this machine. Without user info; `initialize` rejects with
   * a TypeError for any other.
   */
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
  /** A number that comes only once. */
  readonly nonce: () => string;
}

export function withDefaults(env: SignedCallEnv): Environment {
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
    nonce: () => nonceOf(random),
  };
}

/** Nobody can foretell it in browsers and Node; React Native has such numbers by a polyfill only. */
function nonceOf(random: () => number): string {
  const bytes = new Uint8Array(16).map(() => Math.floor(random() * 256));
  const { crypto } = globalThis as { crypto?: { getRandomValues(bytes: Uint8Array): unknown } };
  crypto?.getRandomValues(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const randomId = (random: () => number): string =>
  Array.from({ length: 20 }, () => Math.floor(random() * 36).toString(36)).join('');

/** The notification of a missed call, with at most three buttons. */
export interface MissedCall {
  readonly callId: string;
  readonly actions: MissedCallActions;
  readonly callDetails: CallDetails;
}

/** What the SDK asks of the phone. All are functions, because the answers change while the app runs. */
export interface DeviceCapabilities {
  /** The main version of the platform: 13 on Android 13. */
  osVersion(): number;
  microphone(): 'granted' | 'denied' | 'prompt';
  requestMicrophone(): Promise<boolean>;
  notificationsEnabled(): boolean;
  requestNotificationPermission(): Promise<boolean>;
  /** Whether a telephone call is going on. Android tells only with the permission Read Phone State. */
  pstnBusy(): boolean;
  showMissedCall(missed: MissedCall): void;
}

const allowAll: DeviceCapabilities = {
  osVersion: () => 12,
  microphone: () => 'granted',
  requestMicrophone: () => Promise.resolve(true),
  notificationsEnabled: () => true,
  requestNotificationPermission: () => Promise.resolve(true),
  pstnBusy: () => false,
  showMissedCall: () => undefined,
};

const refuses = () => Promise.resolve(false);

/** Devices for tests and rehearsals. */
export const devicePresets = {
  allowAll,
  micDenied: { ...allowAll, microphone: () => 'denied', requestMicrophone: refuses },
  notificationsOff: {
    ...allowAll,
    notificationsEnabled: () => false,
    requestNotificationPermission: refuses,
  },
  android13Denied: {
    ...allowAll,
    osVersion: () => 13,
    notificationsEnabled: () => false,
    requestNotificationPermission: refuses,
  },
  pstnBusy: { ...allowAll, pstnBusy: () => true },
} as const satisfies Readonly<Record<string, DeviceCapabilities>>;

/** Asks for the microphone where that may still help. */
export async function ensureMicrophone(device: DeviceCapabilities): Promise<boolean> {
  const answer = device.microphone();
  return answer === 'granted' || (answer === 'prompt' && (await device.requestMicrophone()));
}

/** Android 13 and newer show no incoming call without a permission, for which an app has to ask. */
export async function checkNotifications(env: Environment): Promise<CallFault | undefined> {
  const { device, platform } = env;
  if (platform !== 'android' || device.osVersion() < 13 || device.notificationsEnabled())
    return undefined;
  const isGranted = await device.requestNotificationPermission();
  return isGranted ? undefined : { name: 'NOTIFICATION_PERMISSION' };
}

/** Time, as the SDK knows it: injected, so that tests and other platforms have their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs it once after so many milliseconds, unless what is returned is called before. */
  after(milliseconds: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** How much is printed: a line whose level is at most the chosen one. */
export const LogLevel = { off: -1, info: 0, debug: 2, verbose: 3 } as const;
export type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];

/** Prints lines behind the tag of the platform. No line holds an apiKey or what is said in a call. */
export class Logger {
  level: LogLevel = LogLevel.info;

  readonly #print: (line: string) => void;
  readonly #tag: string;

  constructor(print: (line: string) => void, platform: Platform) {
    this.#print = print;
    this.#tag = platform === 'ios' ? 'Signed Call' : 'SignedCall';
  }

  info(text: string): void {
    this.#write(LogLevel.info, text);
  }

  debug(text: string): void {
    this.#write(LogLevel.debug, text);
  }

  verbose(text: string): void {
    this.#write(LogLevel.verbose, text);
  }

  #write(level: LogLevel, text: string): void {
    if (level <= this.level) this.#print(`${this.#tag}: ${text}`);
  }
}

export function expectLevel(level: unknown): void {
  if (!Object.values<unknown>(LogLevel).includes(level))
    throw new TypeError('The level must be one of LogLevel: off, info, debug, verbose');
}

/** What the SDK needs of a WebSocket. Those of browsers, React Native, Node 22 and the package `ws` have it. */
export interface Socket {
  addEventListener(type: 'open', listener: () => void): void;
  /** Browsers do not say what is wrong. */
  addEventListener(type: 'error', listener: (event: { readonly message?: string }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code?: number }) => void): void;
  send(text: string): void;
  close(code?: number): void;
  /** Ends it without waiting for the other side. Of `ws` only. */
  terminate?(): void;
}

export type SocketClass = new (url: string, protocols: string[]) => Socket;

/** How one call's voice travels. What is signalled goes through the router to the other side, as it is. */
export interface MediaOptions {
  /** The initiator makes the offer. */
  readonly role: 'initiator' | 'receiver';
  /** Any JSON value, up to 64 KiB as text. */
  readonly sendSignal: (payload: unknown) => void;
  /** Registers who hears the other side's signals. Those that came before are handed over at once. */
  readonly onSignal: (handler: (payload: unknown) => void) => void;
}

export interface MediaSession {
  /** Resolves when voice can travel; rejects when it never will: the call is hung up then. */
  readonly connected: Promise<void>;
  /** Lets go of microphone and connection. */
  close(): void;
}

export interface MediaAdapter {
  /** Called when the call is answered. */
  open(options: MediaOptions): Promise<MediaSession>;
}

/** No voice: the call is in progress when both sides have answered. */
export const noMedia: MediaAdapter = {
  open: () => Promise.resolve({ connected: Promise.resolve(), close: () => undefined }),
};

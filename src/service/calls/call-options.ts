import {
  callTimers,
  type CallDetails,
  type CallTimers,
  type Platform,
} from '../../calling/protocol.js';

/** A call for a device that is not connected, as a push service would deliver it. */
export interface PushOffer {
  readonly callId: string;
  readonly cuid: string;
  readonly deviceId: string;
  readonly platform: Platform;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly details: CallDetails;
}

/** Limits of one client. */
export interface CallLimits {
  /** Calls that a cuid may place in a minute; more are refused. */
  readonly callsPerMinute: number;
  /** Frames of a socket that are read in a second; more wait in the network. */
  readonly framesPerSecond: number;
}

export const callLimits: CallLimits = { callsPerMinute: 300, framesPerSecond: 200 };

/** An ICE server that the router hands out to clients in a call. */
export interface IceServerOptions {
  readonly urls: string | string[];
  readonly username?: string | undefined;
  readonly credential?: string | undefined;
  /**
   * Secret that is shared with a TURN server (`static-auth-secret` of coturn): each client gets credentials of its own,
   * which expire (draft-uberti-behave-turn-rest). Replaces `username` and `credential`.
   */
  readonly secret?: string | undefined;
  /** Lifetime of these credentials; default: a day. */
  readonly ttlSeconds?: number | undefined;
}

/** Options of the call router of the local service. */
export interface CallingOptions {
  readonly accountId: string;
  readonly apiKey: string;
  /** Overrides of single timeouts. */
  readonly timers?: Partial<CallTimers>;
  /** Probability, per frame of the router, that the connection breaks instead. Default: 0. */
  readonly dropRate?: number;
  /** Whether calling is disabled for the account, so that calls are rejected. */
  readonly isOff?: boolean;
  /** Overrides of single limits. */
  readonly limits?: Partial<CallLimits>;
  readonly onPush?: ((offer: PushOffer) => void) | undefined;
  /**
   * Key of at least 32 bytes that signs the tokens of clients. With it, each client must have a token for its cuid,
   * and calls and devices are listed with the account's passcode only.
   */
  readonly tokenKey?: string | undefined;
  /** Default: none, so that voice stays within the local network. */
  readonly iceServers?: readonly IceServerOptions[] | undefined;
}

/** Options with all defaults applied. */
export type CallingRules = Required<Omit<CallingOptions, 'timers' | 'limits'>> & {
  readonly timers: CallTimers;
  readonly limits: CallLimits;
};

export const withDefaults = (options: CallingOptions): CallingRules => ({
  dropRate: 0,
  isOff: false,
  onPush: undefined,
  tokenKey: undefined,
  iceServers: undefined,
  ...options,
  timers: { ...callTimers, ...options.timers },
  limits: { ...callLimits, ...options.limits },
});

import {
  callTimers,
  type CallDetails,
  type CallTimers,
  type Platform,
} from '../../calling/protocol.js';

/** What a push service would be asked to deliver: a call for a device that is not connected. */
export interface PushOffer {
  readonly callId: string;
  readonly cuid: string;
  readonly deviceId: string;
  readonly platform: Platform;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly details: CallDetails;
}

/** The calling system of the local service, which is there when these are given. */
export interface CallingOptions {
  readonly accountId: string;
  readonly apiKey: string;
  /** Those that are missing are as in production. */
  readonly timers?: Partial<CallTimers>;
  /** Share of the router's frames instead of which the client's connection breaks. 0 by default. */
  readonly dropRate?: number;
  /** Calling is not enabled for the account: calls are refused. */
  readonly isOff?: boolean;
  readonly onPush?: ((offer: PushOffer) => void) | undefined;
}

/** The same with everything decided. */
export type CallingRules = Required<Omit<CallingOptions, 'timers'>> & {
  readonly timers: CallTimers;
};

export const withDefaults = (options: CallingOptions): CallingRules => ({
  dropRate: 0,
  isOff: false,
  onPush: undefined,
  ...options,
  timers: { ...callTimers, ...options.timers },
});

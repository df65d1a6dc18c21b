import type { CallDetails, MissedCallActions } from './protocol.js';

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

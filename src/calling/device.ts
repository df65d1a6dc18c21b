import type { CallFailure } from './errors.js';
import type { Logger } from './logger.js';
import type { CallDetails, MissedCallActions, Platform } from './protocol.js';

/**
 * Permissions and state of the device. All members are functions, because the answers change while the app runs, and
 * all may be asynchronous, as native bridges are. A function that throws or rejects, or a state that is not known within
 * the answer timeout, is logged, and the SDK continues with a safe default (docs/calling.md, Device).
 */
export interface DeviceCapabilities {
  /** Returns the major version of the platform: 13 on Android 13. */
  osVersion(): Answer<number>;
  microphone(): Answer<Permission>;
  requestMicrophone(): Answer<boolean>;
  notificationsEnabled(): Answer<boolean>;
  requestNotificationPermission(): Answer<boolean>;
  /** Android: state of the permission Read Phone State, without which `pstnBusy` is not considered. */
  phoneState(): Answer<Permission>;
  /** Android: requested at the first answer if `promptReceiverReadPhoneStatePermission` is true. */
  requestPhoneState(): Answer<boolean>;
  /** Whether a telephone call is active. */
  pstnBusy(): Answer<boolean>;
  showMissedCall(missed: MissedCall): unknown;
  /** Plays the voice of calls through the loudspeaker, or through the earpiece. */
  setSpeaker(isOn: boolean): unknown;
}

export type Permission = 'granted' | 'denied' | 'prompt';

type Answer<Value> = Value | Promise<Value>;

/** Passes on an answer, and rejects if it takes too long. */
export type TimeLimit = <Value>(answer: Answer<Value>) => Promise<Value>;

/** Notification of a missed call, with at most three buttons. */
export interface MissedCall {
  readonly callId: string;
  readonly actions: MissedCallActions;
  readonly callDetails: CallDetails;
}

const allowAll: DeviceCapabilities = {
  osVersion: () => 12,
  microphone: () => 'granted',
  requestMicrophone: () => true,
  notificationsEnabled: () => true,
  requestNotificationPermission: () => true,
  phoneState: () => 'granted',
  requestPhoneState: () => true,
  pstnBusy: () => false,
  showMissedCall: () => undefined,
  setSpeaker: () => undefined,
};

/** Simulated devices for tests. */
export const devicePresets = {
  allowAll,
  micDenied: { ...allowAll, microphone: () => 'denied', requestMicrophone: () => false },
  notificationsOff: {
    ...allowAll,
    notificationsEnabled: () => false,
    requestNotificationPermission: () => false,
  },
  android13Denied: {
    ...allowAll,
    osVersion: () => 13,
    notificationsEnabled: () => false,
    requestNotificationPermission: () => false,
  },
  pstnBusy: { ...allowAll, pstnBusy: () => true },
  /** On the telephone, and not asked for Read Phone State yet. */
  pstnBusyUnasked: { ...allowAll, phoneState: () => 'prompt', pstnBusy: () => true },
} as const satisfies Readonly<Record<string, DeviceCapabilities>>;

/** Answers that the SDK uses if the device fails: a call rings rather than being declined for the wrong reason. */
const safeAnswers = {
  osVersion: 0,
  // The request decides.
  microphone: 'prompt',
  notificationsEnabled: true,
  phoneState: 'denied',
  pstnBusy: false,
} as const satisfies { readonly [Name in keyof DeviceCapabilities]?: unknown };

/** Functions that wait for the user. */
type Prompt = 'requestMicrophone' | 'requestNotificationPermission' | 'requestPhoneState';

/** Queries the app's device. Its methods never reject. */
export class Device {
  readonly #device: DeviceCapabilities;
  readonly #platform: Platform;
  readonly #log: Logger;
  readonly #inTime: TimeLimit;
  /** Result of the request for Read Phone State, which is made only once. */
  #phoneState: boolean | undefined;

  constructor(device: DeviceCapabilities, platform: Platform, log: Logger, inTime: TimeLimit) {
    this.#device = device;
    this.#platform = platform;
    this.#log = log;
    this.#inTime = inTime;
  }

  /** Returns whether the microphone may be used, after prompting for it if necessary. */
  async ensureMicrophone(): Promise<boolean> {
    const permission = await this.#ask('microphone');
    return (
      permission === 'granted' ||
      (permission === 'prompt' && (await this.#prompt('requestMicrophone')))
    );
  }

  /** Requests the notification permission of Android 13 and newer, without which no incoming call is shown. */
  async checkNotifications(): Promise<CallFailure | undefined> {
    if (this.#platform !== 'android' || Number(await this.#ask('osVersion')) < 13) return undefined;
    if (await this.canNotify()) return undefined;
    const isGranted = await this.#prompt('requestNotificationPermission');
    return isGranted ? undefined : { name: 'NOTIFICATION_PERMISSION' };
  }

  /** Whether the device can show an incoming call; iOS always can. */
  async canNotify(): Promise<boolean> {
    return this.#platform === 'ios' || (await this.#ask('notificationsEnabled')) !== false;
  }

  /** Whether a telephone call is active, as far as the app may know: Android reports it only with a permission. */
  async isOnTelephone(): Promise<boolean> {
    const isKnown =
      this.#platform === 'ios' ||
      this.#phoneState === true ||
      (await this.#ask('phoneState')) === 'granted';
    return isKnown && (await this.#ask('pstnBusy')) === true;
  }

  /** Android: requests Read Phone State once. */
  async requestPhoneState(): Promise<void> {
    if (this.#platform !== 'android' || this.#phoneState !== undefined) return;
    this.#phoneState = false;
    if ((await this.#ask('phoneState')) === 'prompt')
      this.#phoneState = await this.#prompt('requestPhoneState');
  }

  /** Shows the notification of a missed call. */
  showMissedCall(missed: MissedCall): void {
    void this.#guard<unknown>(
      'showMissedCall',
      () => this.#device.showMissedCall(missed),
      undefined,
    );
  }

  /** Selects loudspeaker or earpiece. */
  setSpeaker(isOn: boolean): void {
    void this.#guard<unknown>('setSpeaker', () => this.#device.setSpeaker(isOn), undefined);
  }

  #ask(name: keyof typeof safeAnswers): Promise<unknown> {
    const answer = () => this.#inTime<unknown>(this.#device[name]());
    return this.#guard(name, answer, safeAnswers[name]);
  }

  /** Waits as long as the user does. */
  async #prompt(name: Prompt): Promise<boolean> {
    return (await this.#guard<unknown>(name, () => this.#device[name](), false)) === true;
  }

  async #guard<Value>(name: string, run: () => Answer<Value>, safe: Value): Promise<Value> {
    try {
      return await run();
    } catch (error) {
      this.#log.info(`the device function ${name} failed: ${String(error)}`);
      return safe;
    }
  }
}

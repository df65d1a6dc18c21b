import type { MissedCallActions } from './protocol.js';

/** What `initialize` takes. What only a screen has a use for is checked, and kept by nobody. */
export interface InitProperties {
  readonly accountId: string;
  readonly apiKey: string;
  /** 5 to 50 letters, digits and `_`; one for each user on each device. */
  readonly cuid: string;
  /** Required on Android. */
  readonly allowPersistSocketConnection?: boolean;
  /** Required on iOS. */
  readonly production?: boolean;
  readonly overrideDefaultBranding?: Branding;
  /** Android: id of an action → the label of its button; at most 3. */
  readonly missedCallActions?: MissedCallActions;
  /** Android 13 and newer. */
  readonly promptPushPrimer?: PushPrimer;
  /** Android. */
  readonly promptReceiverReadPhoneStatePermission?: boolean;
}

/** Colours are `#RGB`, `#RRGGBB` or `#AARRGGBB`. */
export interface Branding {
  readonly bgColor?: string;
  readonly fontColor?: string;
  /** https */
  readonly logoUrl?: string;
  readonly buttonTheme?: 'light' | 'dark';
  readonly showPoweredBySignedCall?: boolean;
}

export interface PushPrimer {
  readonly inAppType: 'half-interstitial' | 'alert';
  readonly titleText: string;
  readonly messageText: string;
  readonly positiveBtnText: string;
  readonly negativeBtnText: string;
  readonly followDeviceOrientation?: boolean;
  readonly fallbackToSettings?: boolean;
  readonly imageUrl?: string;
  /** The rest belongs to half-interstitial. */
  readonly backgroundColor?: string;
  readonly btnBorderColor?: string;
  readonly titleTextColor?: string;
  readonly messageTextColor?: string;
  readonly btnTextColor?: string;
  readonly btnBackgroundColor?: string;
  /** A number in a string. */
  readonly btnBorderRadius?: string;
}

import type { Platform } from './protocol.js';

interface ErrorEntry {
  /** Error code, or the reason why the error cannot occur on the platform. */
  readonly android: number | string;
  /** The same; some errors have a code for each field. */
  readonly ios: number | string | { readonly accountId: number; readonly apiKey: number };
  readonly message: string;
  readonly description: string;
}

/** Errors that `initialize`, `call`, `answer` and `decline` resolve with. */
export const errorTable = {
  NO_NETWORK: {
    android: 1000,
    ios: 1000,
    message: 'No network',
    description: 'No socket to the router could be opened, or it was lost before the answer',
  },
  CORE_REQUIRED: {
    android: 2001,
    ios: 2001,
    message: 'Core SDK missing',
    description: 'env.core must be an active instance of the core SDK: an object with accountId',
  },
  INIT_CONFIG: {
    android: 2002,
    ios: 2003,
    message: 'initProperties missing or wrong',
    description: 'initialize requires an object of initProperties',
  },
  NOT_INITIALIZED: {
    android: 2003,
    ios: 2003,
    message: 'Not initialized',
    description: 'Call initialize first, also after logout',
  },
  ACCOUNT_OR_KEY_MISSING: {
    android: 2004,
    ios: { accountId: 2004, apiKey: 2005 },
    message: 'accountId or apiKey missing',
    description: 'accountId and apiKey of the calling settings must be non-empty strings',
  },
  CUID_MISSING: {
    android: 2005,
    ios: 2006,
    message: 'cuid missing',
    description: 'cuid must be a non-empty string',
  },
  CUID_LENGTH: {
    android: 2006,
    ios: 2007,
    message: 'cuid has the wrong length',
    description: 'A cuid has 5 to 50 characters',
  },
  CUID_INVALID: {
    android: 2007,
    ios: 2008,
    message: 'cuid is malformed',
    description:
      'A cuid consists of ASCII letters, digits and _, starts with a letter or a digit, and is not two numbers with _ between them',
  },
  BRANDING: {
    android: 2010,
    ios: 400,
    message: 'overrideDefaultBranding is wrong',
    description: 'Colors must be hexadecimal, logoUrl https, buttonTheme light or dark',
  },
  BAD_REQUEST: {
    android: 2011,
    ios: 400,
    message: 'Bad request',
    description: 'The router rejected the request, or the context is not alphanumeric',
  },
  AUTH_FAILURE: {
    android: 2012,
    ios: 404,
    message: 'Authentication failed',
    description: 'The router rejected this accountId and apiKey',
  },
  NOTIFICATION_PERMISSION: {
    android: 2013,
    ios: 'Only Android 13 and newer request it',
    message: 'Notification permission denied',
    description: 'Android 13 and newer cannot show incoming calls without it',
  },
  PRODUCTION_REQUIRED: {
    android: 'The property applies to iOS only',
    ios: 2011,
    message: 'production missing',
    description: 'On iOS, production must be true or false',
  },
  PERSIST_REQUIRED: {
    android: 2002,
    ios: 'The property applies to Android only',
    message: 'allowPersistSocketConnection missing',
    description: 'On Android, allowPersistSocketConnection must be true or false',
  },
  MIC_DENIED: {
    android: 5001,
    ios: 5001,
    message: 'Microphone permission denied',
    description: 'A call requires the microphone',
  },
  RECEIVER_NETWORK_LOST: {
    android: 5002,
    ios: 5005,
    message: 'Call not acknowledged',
    description: 'The placement of the call was not acknowledged in time',
  },
  NOT_REACHABLE: {
    android: 5003,
    ios: 5002,
    message: 'Receiver not reachable',
    description: 'The receiver has never registered',
  },
  BAD_NETWORK: {
    android: 5004,
    ios: 5008,
    message: 'Bad network',
    description: 'The router took longer than 2000 ms to answer',
  },
  SELF_CALL: {
    android: 5005,
    ios: 5003,
    message: 'Call to oneself',
    description: 'receiverCuid is your own cuid',
  },
  CONTEXT_REQUIRED: {
    android: 5006,
    ios: 2000,
    message: 'Call context missing',
    description: 'callContext must be a non-empty string',
  },
  CONTEXT_LENGTH: {
    android: 5007,
    ios: 2000,
    message: 'Call context too long',
    description: 'callContext may have at most 64 characters',
  },
  CALLEE_REQUIRED: {
    android: 5009,
    ios: 5005,
    message: 'Receiver missing',
    description: 'receiverCuid must be a well-formed cuid',
  },
  CALL_FAILED: {
    android: 5010,
    ios: 5005,
    message: 'Call failed',
    description: 'The router could not place the call',
  },
  SOCKET_REQUIRED: {
    android: 5011,
    ios: 5012,
    message: 'Signalling socket disconnected',
    description: 'Call initialize to reopen the socket after disconnectSignallingSocket',
  },
  CALL_OPTIONS: {
    android: 5012,
    ios: 5005,
    message: 'callProperties are wrong',
    description: 'initiator_image and receiver_image must be http or https URLs',
  },
  CALL_IN_PROGRESS: {
    android: 5013,
    ios: 5009,
    message: 'Call in progress',
    description: 'Another call exists or is being placed',
  },
  FEATURE_OFF: {
    android: 5014,
    ios: 5006,
    message: 'Calling is disabled',
    description: 'Calling is disabled for this account',
  },
  CUID_ELSEWHERE: {
    android: 2012,
    ios: 5004,
    message: 'cuid in use on another device',
    description: 'Another device uses this cuid; a cuid belongs to one user on one device',
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type ErrorName = keyof typeof errorTable;

/** Error names, to compare with `errorName`; the codes have different meanings on the two platforms. */
export const ErrorName = Object.fromEntries(
  Object.keys(errorTable).map((name) => [name, name]),
) as { readonly [Name in ErrorName]: Name };

/** Result of `initialize`, `call`, `answer` and `decline`. Operational failures and invalid values resolve. */
export type SignedCallResponse =
  | { readonly isSuccessful: true; readonly error: null }
  | { readonly isSuccessful: false; readonly error: SignedCallError };

export interface SignedCallError {
  /** Code of the platform; the other platform may use it for another error. */
  readonly errorCode: number;
  readonly errorMessage: string;
  readonly errorDescription: string;
  /** The same on both platforms; compare this one. */
  readonly errorName: ErrorName;
}

/** An error without the code of a platform. */
export interface CallFailure {
  readonly name: ErrorName;
  /** Replaces the description of the table. */
  readonly detail?: string | undefined;
  /** Name of the invalid property. */
  readonly field?: string | undefined;
}

export const success: SignedCallResponse = { isSuccessful: true, error: null };

export function failed(
  failure: CallFailure,
  platform: Platform,
): Extract<SignedCallResponse, { readonly isSuccessful: false }> {
  const { message, description } = errorTable[failure.name];
  const error = {
    errorCode: errorNumber(failure, platform),
    errorMessage: message,
    errorDescription: failure.detail ?? description,
    errorName: failure.name,
  };
  return { isSuccessful: false, error };
}

/** Returns the code of an error on a platform; 0 if it cannot occur there. */
export function errorNumber({ name, field }: CallFailure, platform: Platform): number {
  const number = errorTable[name][platform];
  if (typeof number === 'object') return number[field === 'apiKey' ? 'apiKey' : 'accountId'];
  return typeof number === 'number' ? number : 0;
}

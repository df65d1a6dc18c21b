import type { Platform } from './protocol.js';

interface ErrorEntry {
  /** Its number there, or the reason why it cannot happen there. */
  readonly android: number | string;
  /** Likewise; of an error that names a field, perhaps a number for each. */
  readonly ios: number | string | { readonly accountId: number; readonly apiKey: number };
  readonly message: string;
  readonly description: string;
}

/** Every failure that `initialize` or `call` may resolve with. */
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
    description:
      'An active instance of the core SDK is needed: an object with accountId, as env.core',
  },
  INIT_CONFIG: {
    android: 2002,
    ios: 2003,
    message: 'initProperties missing or wrong',
    description: 'initialize needs an object of initProperties',
  },
  NOT_INITIALIZED: {
    android: 2003,
    ios: 2003,
    message: 'Not initialized',
    description: 'Initialize first; after logout, again',
  },
  ACCOUNT_OR_KEY_MISSING: {
    android: 2004,
    ios: { accountId: 2004, apiKey: 2005 },
    message: 'accountId or apiKey missing',
    description: 'accountId and apiKey of the calling settings are needed, both non-empty strings',
  },
  CUID_MISSING: {
    android: 2005,
    ios: 2006,
    message: 'cuid missing',
    description: 'A cuid is needed, a non-empty string',
  },
  CUID_LENGTH: {
    android: 2006,
    ios: 2007,
    message: 'cuid has a wrong length',
    description: 'A cuid has 5 to 50 characters',
  },
  CUID_INVALID: {
    android: 2007,
    ios: 2008,
    message: 'cuid is malformed',
    description:
      'A cuid is made of ASCII letters, digits and _, begins with a letter or a digit, and is not two numbers with _ between them',
  },
  BRANDING: {
    android: 2010,
    ios: 400,
    message: 'overrideDefaultBranding is wrong',
    description: 'Colours are hexadecimal, logoUrl is https, buttonTheme is light or dark',
  },
  BAD_REQUEST: {
    android: 2011,
    ios: 400,
    message: 'Bad request',
    description: 'The router refused the request, or the context is not alphanumeric',
  },
  AUTH_FAILURE: {
    android: 2012,
    ios: 404,
    message: 'Authentication failed',
    description: 'The router does not know this accountId with this apiKey',
  },
  NOTIFICATION_PERMISSION: {
    android: 2013,
    ios: 'Only Android 13 and newer ask for it',
    message: 'Notification permission denied',
    description: 'On Android 13 and newer, incoming calls cannot be shown without it',
  },
  PRODUCTION_REQUIRED: {
    android: 'The property belongs to iOS',
    ios: 2011,
    message: 'production missing',
    description: 'On iOS, production must be true or false',
  },
  PERSIST_REQUIRED: {
    android: 2002,
    ios: 'The property belongs to Android',
    message: 'allowPersistSocketConnection missing',
    description: 'On Android, allowPersistSocketConnection must be true or false',
  },
  MIC_DENIED: {
    android: 5001,
    ios: 5001,
    message: 'Microphone permission denied',
    description: 'The initiator of a call needs the microphone',
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
    description: 'The receiver never registered',
  },
  BAD_NETWORK: {
    android: 5004,
    ios: 5008,
    message: 'Bad network',
    description: 'The router takes longer than 2000 ms to answer',
  },
  SELF_CALL: {
    android: 5005,
    ios: 5003,
    message: 'Call to oneself',
    description: 'The receiver is the own cuid',
  },
  CONTEXT_REQUIRED: {
    android: 5006,
    ios: 2000,
    message: 'Call context missing',
    description: 'A call needs a context, a non-empty string',
  },
  CONTEXT_LENGTH: {
    android: 5007,
    ios: 2000,
    message: 'Call context too long',
    description: 'A context has at most 64 characters',
  },
  CALLEE_REQUIRED: {
    android: 5009,
    ios: 5005,
    message: 'Receiver missing',
    description: 'A call needs a well-formed cuid of its receiver',
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
    description: 'After disconnectSignallingSocket, initialize opens the socket again',
  },
  CALL_OPTIONS: {
    android: 5012,
    ios: 5005,
    message: 'callProperties are wrong',
    description: 'initiator_image and receiver_image are http or https URLs, each optional',
  },
  CALL_IN_PROGRESS: {
    android: 5013,
    ios: 5009,
    message: 'Call in progress',
    description: 'There is a call already, or one is being placed',
  },
  FEATURE_OFF: {
    android: 5014,
    ios: 5006,
    message: 'Calling is off',
    description: 'Calling is disabled for this account',
  },
  CUID_ELSEWHERE: {
    android: 2012,
    ios: 5004,
    message: 'cuid in use on another device',
    description: 'Another device holds this cuid: a cuid belongs to one user on one device',
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type ErrorName = keyof typeof errorTable;

/** The names, for comparison with `errorName`: the numbers mean different things on the two platforms. */
export const ErrorName = Object.fromEntries(
  Object.keys(errorTable).map((name) => [name, name]),
) as { readonly [Name in ErrorName]: Name };

/** What `initialize` and `call` resolve with. Failures of operation or value always resolve. */
export interface SignedCallResponse {
  readonly isSuccessful: boolean;
  readonly error: SignedCallError | null;
}

export interface SignedCallError {
  /** The platform's number. It may mean something else on the other platform. */
  readonly errorCode: number;
  readonly errorMessage: string;
  readonly errorDescription: string;
  /** The same on both platforms: compare with this. */
  readonly errorName: ErrorName;
}

/** What went wrong, before a platform's number is given to it. */
export interface CallFault {
  readonly name: ErrorName;
  /** More exact than the table's description. */
  readonly detail?: string | undefined;
  /** The property at fault, where the number depends on it. */
  readonly field?: string | undefined;
}

export const success: SignedCallResponse = { isSuccessful: true, error: null };

export function failed(fault: CallFault, platform: Platform): SignedCallResponse {
  const { message, description } = errorTable[fault.name];
  const error = {
    errorCode: errorNumber(fault, platform),
    errorMessage: message,
    errorDescription: fault.detail ?? description,
    errorName: fault.name,
  };
  return { isSuccessful: false, error };
}

/** An error that cannot happen on a platform has 0 there. */
export function errorNumber({ name, field }: CallFault, platform: Platform): number {
  const number = errorTable[name][platform];
  if (typeof number === 'object') return number[field === 'apiKey' ? 'apiKey' : 'accountId'];
  return typeof number === 'number' ? number : 0;
}

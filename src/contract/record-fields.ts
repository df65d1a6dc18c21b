import { recordCodes as codes } from './error-codes.js';

/** Format of a default profile field and the code for an invalid one. */
interface ProfileField {
  readonly expected: string;
  readonly pattern: RegExp;
  /** Undefined: the service accepts any value, but may ignore it. */
  readonly code?: number;
}

const anything = { expected: 'text', pattern: /^/ };
const yesOrNo = { expected: 'Y or N', pattern: /^[YN]$/ };
const emailAddress = /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/;
export const phonePattern = /^\+[1-9]\d{5,14}$/;
const schools = /^(School|College|Graduate)$/;

/**
 * Default profile fields; all other keys are custom fields (specification, Profile record; service-facts,
 * Upload).
 */
export const profileFields: ReadonlyMap<string, ProfileField> = new Map<string, ProfileField>([
  ['Name', anything],
  ['Email', { expected: 'an email address', pattern: emailAddress, code: codes.email }],
  [
    'Phone',
    { expected: '+, country code and digits only', pattern: phonePattern, code: codes.phone },
  ],
  ['Gender', { expected: 'M or F', pattern: /^[MF]$/, code: codes.gender }],
  ['DOB', { expected: 'a date', pattern: /^\$D_-?\d+$/ }],
  [
    'Age',
    { expected: 'whole years up to 150', pattern: /^(?:0?\d{1,2}|1[0-4]\d|150)$/, code: codes.age },
  ],
  ['Photo', anything],
  ['Tz', anything],
  ['Employed', { ...yesOrNo, code: codes.employed }],
  ['Married', { ...yesOrNo, code: codes.married }],
  [
    'Education',
    { expected: 'School, College or Graduate', pattern: schools, code: codes.education },
  ],
]);

/** Types and statuses of subscriptions: lower case → spelling (specification, Subscription record). */
export const subscriptionTypes = { phone: 'phone', whatsapp: 'whatsapp', email: 'email' } as const;
export const subscriptionStatuses = {
  unsubscribe: 'Unsubscribe',
  resubscribe: 'Resubscribe',
} as const;

/**
 * Subscription flags per channel. Address level: true blocks. User level: false blocks. Some flags have two
 * spellings: that of service-facts (Upload) first, then that of the specification (States).
 */
export const channels = {
  sms: { address: ['MSG-dndPhone'], user: ['MSG-sms'] },
  whatsapp: {
    address: ['MSG-dndWhatsApp', 'MSG-dndWhatsapp'],
    user: ['MSG-whatsapp', 'MSG-Whatsapp'],
  },
  email: { address: ['MSG-dndEmail'], user: ['MSG-email'] },
} as const;

import { recordCodes as codes } from './error-codes.js';

/** What a default profile field must look like, and the code of one that does not. */
interface ProfileField {
  readonly wanted: string;
  readonly pattern: RegExp;
  /** Undefined: the service takes anything, and may not understand it. */
  readonly code?: number;
}

const anything = { wanted: 'text', pattern: /^/ };
const yesOrNo = { wanted: 'Y or N', pattern: /^[YN]$/ };
const emailAddress = /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/;
export const phonePattern = /^\+[1-9]\d{5,14}$/;
const schools = /^(School|College|Graduate)$/;

/**
 * The default profile fields; every other key is a custom one (specification, Profile record;
 * service-facts, Upload).
 */
export const profileFields: ReadonlyMap<string, ProfileField> = new Map<string, ProfileField>([
  ['Name', anything],
  ['Email', { wanted: 'an email address', pattern: emailAddress, code: codes.email }],
  [
    'Phone',
    { wanted: '+, country code and digits only', pattern: phonePattern, code: codes.phone },
  ],
  ['Gender', { wanted: 'M or F', pattern: /^[MF]$/, code: codes.gender }],
  ['DOB', { wanted: 'a date', pattern: /^\$D_-?\d+$/ }],
  ['Age', { wanted: 'whole years', pattern: /^\d{1,3}$/, code: codes.age }],
  ['Photo', anything],
  ['Tz', anything],
  ['Employed', { ...yesOrNo, code: codes.employed }],
  ['Married', { ...yesOrNo, code: codes.married }],
  ['Education', { wanted: 'School, College or Graduate', pattern: schools, code: codes.education }],
]);

/** Spelling of a subscription's type and status, by lower case (specification, Subscription record). */
export const subscriptionTypes = { phone: 'phone', whatsapp: 'whatsapp', email: 'email' } as const;
export const subscriptionStatuses = {
  unsubscribe: 'Unsubscribe',
  resubscribe: 'Resubscribe',
} as const;

/**
 * Flags of the two levels per channel. Address-level: true blocks. User-level: false blocks.
 * Each flag has the two spellings of the specification (States) and of service-facts (Upload).
 */
export const channels = {
  sms: { address: ['MSG-dndPhone'], user: ['MSG-sms'] },
  whatsapp: {
    address: ['MSG-dndWhatsApp', 'MSG-dndWhatsapp'],
    user: ['MSG-whatsapp', 'MSG-Whatsapp'],
  },
  email: { address: ['MSG-dndEmail'], user: ['MSG-email'] },
} as const;

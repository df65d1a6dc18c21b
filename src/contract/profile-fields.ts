import { recordCodes } from './codes.js';

/** What a default profile field must look like, and the code of one that does not. */
export interface ProfileField {
  readonly wanted: string;
  readonly pattern: RegExp;
  /** Undefined: the service takes anything, and may not understand it. */
  readonly code?: number;
}

const anything = { wanted: 'text', pattern: /^/ };
const yesOrNo = { wanted: 'Y or N', pattern: /^[YN]$/ };

/** The default profile fields (service-facts, Upload); every other key is a custom one. */
export const profileFields: ReadonlyMap<string, ProfileField> = new Map<string, ProfileField>([
  ['Name', anything],
  [
    'Email',
    {
      wanted: 'an email address',
      pattern: /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/,
      code: recordCodes.email,
    },
  ],
  [
    'Phone',
    {
      wanted: '+, country code and digits only',
      pattern: /^\+[1-9]\d{5,14}$/,
      code: recordCodes.phone,
    },
  ],
  ['Gender', { wanted: 'M or F', pattern: /^[MF]$/, code: recordCodes.gender }],
  ['DOB', { wanted: 'a date', pattern: /^\$D_-?\d+$/ }],
  ['Age', { wanted: 'whole years', pattern: /^\d{1,3}$/, code: recordCodes.age }],
  ['Photo', anything],
  ['Tz', anything],
  ['Employed', { ...yesOrNo, code: recordCodes.employed }],
  ['Married', { ...yesOrNo, code: recordCodes.married }],
  [
    'Education',
    {
      wanted: 'School, College or Graduate',
      pattern: /^(School|College|Graduate)$/,
      code: recordCodes.education,
    },
  ],
]);

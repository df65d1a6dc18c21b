import { recordCodes } from '../contract/codes.js';

/** Why one record was not processed (service-facts, Codes per record). */
export interface Fault {
  readonly code: number;
  readonly error: string;
}

const profileFault = (code: number, what: string): Fault => ({
  code,
  error: `Profile data is incorrect. ${what}`,
});
const eventFault = (code: number, what: string): Fault => ({
  code,
  error: `Event data is incorrect. ${what}`,
});

/**
 * No code is listed for a profile key or value that is too long, or a misused operator: such a
 * profile gets 512, the code of a wrong structure.
 */
export const faults = {
  type: { code: recordCodes.recordType, error: 'Type is neither event nor profile.' },
  identity: { code: recordCodes.identityMissing, error: 'Identity is missing.' },
  objectId: { code: recordCodes.objectId, error: 'Object ID is not valid.' },
  timestamp: { code: recordCodes.timestamp, error: 'Timestamp is not in epoch seconds.' },

  profileData: profileFault(recordCodes.eventStructure, 'profileData is not an object.'),
  profileKey: profileFault(recordCodes.eventStructure, 'A key is longer than 120 bytes.'),
  profileKeys: profileFault(recordCodes.eventStructure, 'More than 256 custom keys.'),
  profileValue: profileFault(recordCodes.eventStructure, 'A value is longer than 512 bytes.'),
  operator: profileFault(recordCodes.eventStructure, 'An operator is not valid.'),
  gender: profileFault(recordCodes.gender, 'Gender is not M or F.'),
  email: profileFault(recordCodes.email, 'Email is not valid.'),
  phone: profileFault(recordCodes.phone, 'Phone is not valid.'),
  employed: profileFault(recordCodes.employed, 'Employed is not Y or N.'),
  education: profileFault(
    recordCodes.education,
    'Education is not one of School, College, Graduate.',
  ),
  married: profileFault(recordCodes.married, 'Married is not Y or N.'),
  age: profileFault(recordCodes.age, 'Age is not valid.'),

  eventName: eventFault(recordCodes.eventNameMissing, 'Event name is missing.'),
  reservedEvent: eventFault(recordCodes.reservedEventName, 'Event name is reserved.'),
  eventData: eventFault(recordCodes.eventStructure, 'evtData is not a flat object.'),
  eventKey: eventFault(recordCodes.eventStructure, 'A property key is longer than 120 bytes.'),
  eventValue: eventFault(recordCodes.eventStructure, 'A property value is longer than 512 bytes.'),
  eventProperties: eventFault(recordCodes.tooManyEventProperties, 'More than 256 properties.'),

  subscriptionType: {
    code: recordCodes.recordType,
    error: 'Type is neither phone, whatsapp nor email.',
  },
  subscriptionStatus: {
    code: recordCodes.eventStructure,
    error: 'Status is neither Unsubscribe nor Resubscribe.',
  },
  subscriptionPhone: { code: recordCodes.phone, error: 'Phone number is not valid.' },
  subscriptionEmail: { code: recordCodes.email, error: 'Email is not valid.' },
} as const satisfies Record<string, Fault>;

export const isFault = (value: object): value is Fault => 'code' in value && 'error' in value;

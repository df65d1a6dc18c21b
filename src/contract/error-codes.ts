/** Error codes of a whole request (specification, Errors 2; service-facts). */
export const requestCodes = {
  /** The data of the cursor is not ready: retry with the same cursor. */
  pending: 2,
  /** Corrupt, expired or twice-encoded cursor. */
  incorrectUsage: 3,
} as const;

/** Error texts of a whole request (service-facts, Answers). */
export const requestErrorTexts = {
  pending: 'Request still in progress, please retry later',
  incorrectUsage: 'Incorrect Usage',
  tooManyRequests: 'Too many concurrent requests',
  unknownError: 'An unknown error occurred',
} as const;

/** Error codes of a record in `unprocessed` (service-facts, Answers). */
export const recordCodes = {
  eventNameMissing: 509,
  eventStructure: 512,
  reservedEventName: 513,
  gender: 514,
  email: 515,
  phone: 516,
  employed: 517,
  education: 518,
  married: 519,
  age: 520,
  tooManyEventProperties: 522,
  identityMissing: 523,
  recordType: 524,
  timestamp: 525,
  objectId: 526,
  discardedEvent: 528,
  /** The only code to retry. */
  serverError: 555,
} as const;

/** Event names that uploads must not use: code 513 (service-facts, Answers). */
export const reservedEventNames = [
  'Notification Sent',
  'Notification Viewed',
  'Notification Clicked',
  'Notification Delivered',
  'Notification Replied',
  'UTM Visited',
  'App Launched',
  'App Uninstalled',
  'App Version Changed',
  'Stayed',
  'Reply Sent',
  'Experiment Rendered',
  'Reachable By',
  'Identity Reset',
  'Identity Set',
  'Identity Error',
] as const;

/** Events that endpoint 6 does not export (specification, Endpoint 6). */
export const unexportableEvents = [
  'Notification Sent',
  'Notification Bounce',
  'Notification Control Group',
  'Notification Rendered',
  'Notification System Control Group',
] as const;

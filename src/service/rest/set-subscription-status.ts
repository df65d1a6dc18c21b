import { recordCodes } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import { subscriptionStatuses } from '../../contract/record-fields.js';
import { isObject, parseMembers, stringOf } from '../raw-json.js';
import { addressOf, addressTypeOf, setBlocked, type AddressFlag } from '../store/profiles.js';
import { isDryRun } from './read-request.js';
import { RecordError } from './record-validation.js';
import { writeRecords } from './write-records.js';
import type { Deviations, Endpoint } from './rest-route.js';

/** Handles endpoint 2. `dryRun=1` returns the same response and changes nothing. */
export const setSubscriptionStatus: Endpoint = ({ query, body, deviations }, service) => {
  const write = {
    most: limits.recordsPerSubscribe,
    check: (text: string) => checkSubscription(text, deviations),
    save: setBlocked,
    isDryRun: isDryRun(query),
  };
  return writeRecords(body, write, deviations, service);
};

const failures = {
  type: new RecordError(recordCodes.recordType, 'Type is neither phone, whatsapp nor email.'),
  email: new RecordError(recordCodes.email, 'Email is not valid.'),
  phone: new RecordError(recordCodes.phone, 'Phone number is not valid.'),
  status: new RecordError(
    recordCodes.eventStructure,
    'Status is neither Unsubscribe nor Resubscribe.',
  ),
};

/** Parses an element of `d`; types and statuses match in any case. Throws RecordError. */
function checkSubscription(text: string, deviations: Deviations): AddressFlag {
  if (!isObject(text)) throw failures.type;
  const record = parseMembers(text);
  const type = addressTypeOf(stringOf(record.get('type')));
  if (type === undefined) throw failures.type;
  const address = addressOf(type, stringOf(record.get('value')));
  if (address === undefined) throw type === 'email' ? failures.email : failures.phone;
  deviations.unknownMembers(record, ['type', 'value', 'status'], 'record');
  const status = stringOf(record.get('status'))?.toLowerCase() ?? '';
  if (!Object.hasOwn(subscriptionStatuses, status)) throw failures.status;
  return { type, address, isBlocked: status === 'unsubscribe' };
}

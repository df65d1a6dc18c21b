import { recordCodes } from '../../contract/codes.js';
import { limits } from '../../contract/limits.js';
import { subscriptionStatuses } from '../../contract/subscriptions.js';
import { isObject, membersOf, stringOf } from '../raw-json.js';
import { addressOf, addressTypeOf, setBlocked, type AddressFlag } from '../store/addresses.js';
import type { Endpoint } from './rest-route.js';
import { isDryRun } from './played-query.js';
import type { Fault } from './record-fault.js';
import { fault, writeRecords } from './write-records.js';

/** Endpoint 2. `dryRun=1` answers the same and changes nothing. */
export const setSubscriptionStatus: Endpoint = ({ query, body }, service) => {
  const write = {
    most: limits.recordsPerSubscribe,
    check: checkSubscription,
    save: setBlocked,
    isDryRun: isDryRun(query),
  };
  return writeRecords(body, write, service);
};

const faults = {
  type: fault(recordCodes.recordType, 'Type is neither phone, whatsapp nor email.'),
  email: fault(recordCodes.email, 'Email is not valid.'),
  phone: fault(recordCodes.phone, 'Phone number is not valid.'),
  status: fault(recordCodes.eventStructure, 'Status is neither Unsubscribe nor Resubscribe.'),
};

/** Reads one element of `d`, or says what is wrong with it. Words in any case. */
function checkSubscription(text: string): AddressFlag | Fault {
  if (!isObject(text)) return faults.type;
  const record = membersOf(text);
  const type = addressTypeOf(stringOf(record.get('type')));
  if (type === undefined) return faults.type;
  const address = addressOf(type, stringOf(record.get('value')));
  if (address === undefined) return type === 'email' ? faults.email : faults.phone;
  const status = stringOf(record.get('status'))?.toLowerCase() ?? '';
  if (!Object.hasOwn(subscriptionStatuses, status)) return faults.status;
  return { type, address, isBlocked: status === 'unsubscribe' };
}

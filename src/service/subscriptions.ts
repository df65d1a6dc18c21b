import { subscriptionStatuses, subscriptionTypes } from '../contract/subscriptions.js';
import { isEmail, phoneOf } from './addresses.js';
import { isObject, membersOf, stringOf } from './raw-json.js';
import { faults, type Fault } from './record-faults.js';
import type { Store } from './store.js';

export type AddressType = keyof typeof subscriptionTypes;

/** A checked record of endpoint 2. It concerns the address, hence every user who has it. */
export interface Subscription {
  readonly type: AddressType;
  readonly address: string;
  readonly blocked: boolean;
}

/** Reads one element of `d` of endpoint 2, or says what is wrong with it. Words in any case. */
export function validateSubscription(text: string): Subscription | Fault {
  if (!isObject(text)) return faults.subscriptionType;
  const record = membersOf(text);
  const type = addressTypeOf(stringOf(record.get('type')));
  if (type === undefined) return faults.subscriptionType;
  const address = addressOf(type, stringOf(record.get('value')));
  if (address === undefined) {
    return type === 'email' ? faults.subscriptionEmail : faults.subscriptionPhone;
  }
  const status = stringOf(record.get('status'))?.toLowerCase();
  if (status === undefined || !Object.hasOwn(subscriptionStatuses, status)) {
    return faults.subscriptionStatus;
  }
  return { type, address, blocked: status === 'unsubscribe' };
}

export function addressTypeOf(word: string | undefined): AddressType | undefined {
  const type = word?.toLowerCase();
  return type !== undefined && Object.hasOwn(subscriptionTypes, type)
    ? (type as AddressType)
    : undefined;
}

/** The address as the store knows it, or undefined when it is not one of this type. */
export function addressOf(type: AddressType, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (type === 'email') return isEmail(value) ? value : undefined;
  return phoneOf(value);
}

/** Sets the address-level flag. */
export function setSubscription(store: Store, { type, address, blocked }: Subscription): void {
  const sql = blocked
    ? 'INSERT OR IGNORE INTO blocked (type, address) VALUES (?, ?)'
    : 'DELETE FROM blocked WHERE type = ? AND address = ?';
  store.run(sql, [type, address]);
}

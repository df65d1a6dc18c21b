import { subscriptionTypes } from '../../contract/record-fields.js';
import type { Database } from './database.js';

/** An address-level subscription, which applies to every user with the address. */
export interface AddressFlag {
  readonly type: keyof typeof subscriptionTypes;
  readonly address: string;
  readonly isBlocked: boolean;
}

/** Whether the text has the shape of an email address. */
export const isEmail = (text: string): boolean =>
  text.length <= 254 &&
  /^[^\s@"\p{Cc}\p{Cs}]+@[^\s@.\p{Cc}\p{Cs}]+(\.[^\s@.\p{Cc}\p{Cs}]+)+$/u.test(text);

/** Whether the text is `+`, country code and digits, as in profiles. */
export const isPhone = (text: string): boolean => /^\+[1-9]\d{5,14}$/.test(text);

/** Parses the type of an address, in any case. */
export function addressTypeOf(word: string | undefined): AddressFlag['type'] | undefined {
  const type = word?.toLowerCase() ?? '';
  return Object.hasOwn(subscriptionTypes, type) ? (type as AddressFlag['type']) : undefined;
}

/** Normalizes an address to its stored form; undefined if it is not an address of this type. */
export function addressOf(
  type: AddressFlag['type'],
  value: string | undefined,
): string | undefined {
  if (value === undefined) return undefined;
  if (type === 'email') return isEmail(value) ? value : undefined;
  const phone = value.startsWith('+') ? value : `+${value}`;
  return isPhone(phone) ? phone : undefined;
}

export function setBlocked(store: Database, { type, address, isBlocked }: AddressFlag): void {
  const sql = isBlocked
    ? 'INSERT OR IGNORE INTO blocked (type, address) VALUES (?, ?)'
    : 'DELETE FROM blocked WHERE type = ? AND address = ?';
  store.run(sql, [type, address]);
}

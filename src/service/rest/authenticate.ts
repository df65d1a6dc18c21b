import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { headerNames } from '../../contract/endpoints.js';
import { refused } from '../refusal.js';
import type { ServiceOptions } from '../service.js';

/** Compares both headers in a time that tells nothing about them; throws the Refusal 401. */
export function authenticate(headers: IncomingHttpHeaders, options: ServiceOptions): void {
  const names = options.headerPrefixes.map(headerNames);
  const sent = (which: 'accountId' | 'passcode') =>
    names.map((name) => headers[name[which].toLowerCase()]).find((value) => value !== undefined);
  const isAccount = matches(sent('accountId'), options.accountId);
  const isPasscode = matches(sent('passcode'), options.passcode);
  if (!isAccount && !isPasscode) throw refused(401, 'Invalid Credentials');
  if (!isAccount) throw refused(401, 'Account ID is not valid');
  if (!isPasscode) throw refused(401, 'Passcode Invalid');
}

const matches = (sent: string | string[] | undefined, expected: string): boolean =>
  timingSafeEqual(digest(String(sent ?? '')), digest(expected));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

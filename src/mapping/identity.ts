import { limits, objectIdPattern } from '../contract/limits.js';
import { keyOf, keySeeds } from './key-hash.js';
import type { KeyPart } from '../text/record-hash.js';
import type { CellText } from '../text/text-slice.js';
import type { RecordBuilder } from './record-block.js';

/** Takes the text as the record's key; says why it cannot be one. */
export function takeKey(part: KeyPart, text: CellText, records: RecordBuilder): string | undefined {
  const fault = keyFault(part, text);
  if (fault === undefined) {
    records.key = keyOf(text.bytes, text.start, text.end, keySeeds[part]);
  }
  return fault;
}

/** Why a text cannot say who a user is, or undefined. Length is in code points. */
export function keyFault(part: string, text: CellText): string | undefined {
  if (part === 'objectId') return objectIdFault(text);
  const fault = textFault(text);
  if (fault !== undefined || !isTooLong(text)) return fault;
  return `the value has more than ${limits.identityLength} characters`;
}

function objectIdFault(text: CellText): string | undefined {
  if (text.isEmpty) return 'the value is empty';
  const most = limits.objectIdLength;
  if (text.end - text.start <= most && objectIdPattern.test(text.toString())) return undefined;
  return `${shown(text)} is not 1 to ${most} of A-Z a-z 0-9 ( ) ! : @ $ _ -`;
}

/** Why a text cannot name something (an identity, an address, an event), or undefined. */
export function textFault(text: CellText): string | undefined {
  if (text.isEmpty) return 'the value is empty';
  if (text.broken) return `${shown(text)} has half of a surrogate pair`;
  for (let at = text.start; at < text.end; at++) {
    const byte = text.bytes[at]!;
    if (byte < 0x20 || byte === 0x7f) return `${shown(text)} has a control character`;
  }
  return undefined;
}

/** A value for an error text, in quotes and cut short. */
export function shown(text: CellText): string {
  const value = text.toString();
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}

function isTooLong({ bytes, start, end }: CellText): boolean {
  if (end - start <= limits.identityLength) return false;
  let characters = 0;
  for (let at = start; at < end; at++) if ((bytes[at]! & 0xc0) !== 0x80) characters++;
  return characters > limits.identityLength;
}

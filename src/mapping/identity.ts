import { limits, objectIdPattern } from '../contract/limits.js';
import type { CellText } from './cell-text.js';

/** Why a text cannot be an identity, or undefined. Length is in code points. */
export function identityFault(text: CellText): string | undefined {
  return (
    textFault(text) ??
    (isTooLong(text) ? `the value has more than ${limits.identityLength} characters` : undefined)
  );
}

/** Why a text cannot be an objectId, or undefined. */
export function objectIdFault(text: CellText): string | undefined {
  if (text.isEmpty) return 'the value is empty';
  const isGood =
    text.end - text.start <= limits.objectIdLength && objectIdPattern.test(text.toString());
  if (isGood) return undefined;
  return `${shown(text)} is not 1 to ${limits.objectIdLength} of A-Z a-z 0-9 ( ) ! : @ $ _ -`;
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

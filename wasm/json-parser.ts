// One value of JSON (RFC 8259, 3 to 5), whose tokens are in `tokens.ts`; space may be around each of them:
//
//     value   = object / array / string / scalar
//     object  = "{" [member *("," member)] "}"
//     member  = string ":" value
//     array   = "[" [value *("," value)] "]"
//
// At most 200 objects and arrays are within each other. That an object has a key twice is noted and passed over: what
// is no JSON comes first.
//
// Memory: for each depth the number of the object that is open there, or `array` (i64).

import { fail, Fault } from './json/fault';
import { addKey, newObject } from './json/keys';
import { allocate } from './json/memory';
import { addMember, endMember } from './json/members';
import { firstBits, hashOf, mixed } from './memory';
import { spell } from './json/spelling';
import { othersIn, scalarEnd, spaceEnd, stringEnd } from './json-tokens';

export const deepest: i32 = 200;
const containers: i32 = allocate(8 * (deepest + 1));
const array: i64 = -1;

/** Whether any object has a key that is an operator. */
export let hasOperator: bool = false;

/** The first key that its object has already, without quotes; 0 if there is none. */
export let repeatStart: i32 = 0;
export let repeatEnd: i32 = 0;

/** Where the next key goes that has to be spelled without escapes: behind all of them so far. */
export let names: i32 = 0;

/** Behind the value that begins at `start`, or 0. At `scratch` there is as much room as the text has bytes. */
export function readValue(start: i32, scratch: i32): i32 {
  hasOperator = false;
  repeatStart = 0;
  names = scratch;
  return valueEnd(start);
}

/** One loop for all depths. */
function valueEnd(start: i32): i32 {
  let at = start;
  let depth = 0;
  let object = array;
  store<i64>(containers, array);
  while (true) {
    const byte = load<u8>(at);
    if (byte == 0x22) {
      at = stringEnd(at + 1);
      if (at == 0) return 0;
    } else if (byte == 0x7b || byte == 0x5b) {
      if (depth == deepest) return fail(Fault.tooDeep, at);
      depth += 1;
      object = byte == 0x7b ? newObject() : array;
      store<i64>(containers + 8 * depth, object);
      at = spaceEnd(at + 1);
      if (load<u8>(at) != byte + 2) {
        if (byte == 0x7b) at = memberValue(at, object, depth);
        if (at == 0) return 0;
        continue;
      }
      at += 1;
      depth -= 1;
      object = load<i64>(containers + 8 * depth);
    } else {
      at = scalarEnd(at);
      if (at == 0) return 0;
    }

    // behind a value: the ends of what it is in, until another value follows
    while (true) {
      if (depth == 0) return at;
      const isObject = object != array;
      if (depth == 1 && isObject) endMember(at);
      at = spaceEnd(at);
      const next = load<u8>(at);
      if (next == 0x2c) {
        at = spaceEnd(at + 1);
        if (isObject) at = memberValue(at, object, depth);
        if (at == 0) return 0;
        break;
      }
      if (next != (isObject ? 0x7d : 0x5d)) return fail(isObject ? Fault.commaOrBrace : Fault.commaOrBracket, at);
      at += 1;
      depth -= 1;
      object = load<i64>(containers + 8 * depth);
    }
  }
}

/** Where the value of the member begins whose key begins at `quote`, or 0. */
// @ts-ignore
@inline function memberValue(quote: i32, object: i64, depth: i32): i32 {
  if (load<u8>(quote) != 0x22) return fail(Fault.key, quote);

  // most keys have no escapes, and are hashed on the way to their end
  const start = quote + 1;
  let end = start;
  let hash: u64 = 0;
  let word = load<u64>(end);
  let others = othersIn(word);
  while (others == 0) {
    hash = mixed(hash, word);
    end += 8;
    word = load<u64>(end);
    others = othersIn(word);
  }
  const bits = ctz(others) & 56;
  end += <i32>(bits >> 3);
  let name = start;
  let nameEnd = end;
  if (load<u8>(end) == 0x22) hash = mixed(hash, firstBits(word, bits));
  else {
    const after = stringEnd(end);
    if (after == 0) return 0;
    end = after - 1;
    name = names;
    names = nameEnd = spell(start, end, name);
    hash = hashOf(name, nameEnd);
  }

  if (!addKey(object, hash, name, nameEnd) && repeatStart == 0) {
    repeatStart = start;
    repeatEnd = end;
  }
  if (load<u8>(name) == 0x24 && isOperator(name, nameEnd)) hasOperator = true;

  let at = spaceEnd(end + 1);
  if (load<u8>(at) != 0x3a) return fail(Fault.colon, at);
  at = spaceEnd(at + 1);
  if (depth == 1) addMember(start, end, at, name, nameEnd);
  return at;
}

/** Whether a profile diverges that is sent twice with it: $add, $incr or $decr (service-facts, Upload). */
function isOperator(name: i32, end: i32): bool {
  const word = load<u32>(name);
  if (end - name == 4) return word == 0x6464_6124; // $add
  return end - name == 5 && (word == 0x636e_6924 || word == 0x6365_6424) && load<u8>(name, 4) == 0x72; // $inc, $dec; r
}

// Upload records as most are written: surely good, and to be sent as they stand. Where there is any doubt, the row is not
// one, and `src/mapping/typed-record.ts` judges it. Its members, in any order, and any others besides:
//
//     row       = profile / event
//     profile   = "identity": text, "type": "profile", "profileData": object, ["ts": time]
//     event     = "identity": text, "type": "event", "evtName": text, ["evtData": object], ["ts": time]
//     text      = a string that is not empty, without escapes and DEL; of an identity, no longer than `expect` says
//     time      = digits, no more than `expect` says
//
// None of "objectId", "FBID" and "GPID", which are keys too, nor "stage", which lines of a rejects file have.

import { memberOf, valueEnd, valueHasEscape, valueStart } from './members';
import { firstBits } from './names';
import { digitsEnd } from './tokens';

/** Names by their numbers: their places in `src/mapping/member-names.ts`. */
const enum Name {
  identity = 3,
  objectId,
  FBID,
  GPID,
  type,
  ts,
  profileData,
  evtName,
  evtData,
  stage = 16,
}

export const enum RowKind {
  other,
  profile,
  event,
}

// Most bytes of an identity and of a time that are surely good, and the seed of an identity's hash.
let identityBytes: i32 = 0;
let identitySeed: i32 = 0;
let tsBytes: i32 = 0;

export function expect(longestIdentity: i32, seed: i32, longestTs: i32): void {
  identityBytes = longestIdentity;
  identitySeed = seed;
  tsBytes = longestTs;
}

/** What the object is whose members were read. */
export function rowKind(): RowKind {
  const isEvent = isText(memberOf(Name.type), 5, 0x74_6e65_7665); // event
  if (!(isEvent ? isEventRecord() : isProfileRecord()) || !isKeyed() || !hasGoodTs()) return RowKind.other;
  return isEvent ? RowKind.event : RowKind.profile;
}

/** FNV-1a of the identity (`src/mapping/key-hash.ts`). */
export function keyHash(): i32 {
  const member = memberOf(Name.identity);
  const end = valueEnd(member) - 1;
  let hash = identitySeed;
  for (let at = valueStart(member) + 1; at < end; at += 1) hash = (hash ^ load<u8>(at)) * 16_777_619;
  return hash & 0x7fff_ffff;
}

function isProfileRecord(): bool {
  return isText(memberOf(Name.type), 7, 0x65_6c69_666f_7270) && isObject(memberOf(Name.profileData)); // profile
}

function isEventRecord(): bool {
  const data = memberOf(Name.evtData);
  return isGoodText(memberOf(Name.evtName), i32.MAX_VALUE) && (data == 0 || isObject(data));
}

function isKeyed(): bool {
  if ((memberOf(Name.objectId) | memberOf(Name.FBID) | memberOf(Name.GPID) | memberOf(Name.stage)) != 0) return false;
  return isGoodText(memberOf(Name.identity), identityBytes);
}

function hasGoodTs(): bool {
  const member = memberOf(Name.ts);
  if (member == 0) return true;
  const start = valueStart(member);
  const end = valueEnd(member);
  return end - start <= tsBytes && digitsEnd(start) == end;
}

function isObject(member: i32): bool {
  return member != 0 && load<u8>(valueStart(member)) == 0x7b;
}

/** Whether it is a string of these up to 7 bytes, written without escapes. */
function isText(member: i32, length: i32, bytes: u64): bool {
  if (member == 0) return false;
  const start = valueStart(member);
  if (load<u8>(start) != 0x22 || valueEnd(member) - start != length + 2) return false;
  return firstBits(load<u64>(start, 1), 8 * length) == bytes;
}

/** Whether it is a string of at least one byte, without escapes and control characters. */
function isGoodText(member: i32, most: i32): bool {
  if (member == 0 || valueHasEscape(member)) return false;
  const start = valueStart(member);
  const end = valueEnd(member) - 1;
  if (load<u8>(start) != 0x22 || end == start + 1 || end - start - 1 > most) return false;
  for (let at = start + 1; at < end; at += 1) if (load<u8>(at) == 0x7f) return false; // others are no JSON
  return true;
}

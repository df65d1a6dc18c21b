// Checks one JSON text after the other (RFC 8259), for `src/mapping/json-text.ts`, in AssemblyScript (TypeScript with the
// types of WebAssembly; https://www.assemblyscript.org). Strings are passed over 8 bytes at a time, and without SIMD: it
// runs wherever WebAssembly does.
//
// Memory: what was found out, the open containers, and then regions that only ever grow by moving to new memory: members
// of the topmost object, keys of all objects, rows, and the texts. A place is an address in here; a position is what the caller
// counts by, `base` less than its place.

/** Whether a key that begins with $ is an operator. Told by place. */
declare function isOperator(start: i32, end: i32): bool;

export const deepest: i32 = 200;

// What is wrong with a text; `json-text.ts` has the words. Up to `commaOrBracket` it is what should be there.
const nothing: i32 = 0;
const value: i32 = 1;
const digit: i32 = 2;
const key: i32 = 3;
const colon: i32 = 4;
const commaOrBrace: i32 = 5;
const commaOrBracket: i32 = 6;
const inString: i32 = 7;
const tooDeep: i32 = 8;
const goesOn: i32 = 9;
const repeatsKey: i32 = 10;

/**
 * Nine i32: start, end, number of members, their place, that of `wantedAt`, operator or not, what is wrong, where, end of a
 * repeated key.
 */
const found: i32 = 0;

/** For each depth the number of the object that is open there, or `array`. */
const containers: i32 = 40;
const array: i64 = -1;

let heap: i32 = containers + 8 * (deepest + 1);

// Members of the topmost object, each six i32: key from and to, value from and to, by position, without quotes around the
// key; whether the value has escapes; and the number of its name, if that is wanted, else -1. A name is a key without
// its escapes.
const memberBytes: i32 = 24;
let mostMembers: i32 = 64;
let members: i32 = allocate(memberBytes * mostMembers);
let memberCount: i32 = 0;

// Hash tables that are at most half full have entries of an i64 that is 0 where there is none, the hash of a name, its
// start and its end.
const entryBytes: i32 = 24;

// The names that are wanted, each with its number + 1; and the member that last had each, which may be of an earlier text.
let wantedBits: i32 = 1;
let wanted: i32 = allocate(entryBytes << wantedBits);
let wantedAt: i32 = 0;

// The keys of all objects, each with the number of its object. Objects are numbered through all texts, so that a key of an
// object before `firstObject` is free to be overwritten.
let keyBits: i32 = 8;
let keys: i32 = allocate(entryBytes << keyBits);
let keyCount: i32 = 0;
let firstObject: i64 = 1;
let nextObject: i64 = 1;

/** How far beyond the end of a text it may be read. */
const slack: i32 = 16;
let textBytes: i32 = -1;
let text: i32 = 0;
let base: i32 = 0;
/** Where the next name goes that has to be spelled without escapes: behind the text. */
let names: i32 = 0;

let hasOperator: bool = false;
/** Of the value of the last member of the topmost object, so far. */
let hasEscape: bool = false;
let repeatStart: i32 = 0;
let repeatEnd: i32 = 0;
let fault: i32 = nothing;
let faultAt: i32 = 0;

// The rows of a block, one list behind the other: of each its start and end (two i32); then, of those that were passed,
// the key (i32), whether it is an event, and whether it converges (a byte each); see `src/mapping/records.ts`.
let mostRows: i32 = 0;
let rows: i32 = 0;

// Most bytes of an identity and of a time that are surely good, and the seed of an identity's hash.
let identityBytes: i32 = 0;
let identitySeed: i32 = 0;
let tsBytes: i32 = 0;

/** Names by their numbers: their places in `src/mapping/member-names.ts`. */
const enum Name {
  identity,
  objectId,
  FBID,
  GPID,
  type,
  ts,
  profileData,
  evtName,
  evtData,
  stage = 13,
}

/** Makes room for so many names that are wanted. */
export function want(count: i32): void {
  wantedBits = 33 - clz(count);
  wanted = allocate(entryBytes << wantedBits);
  wantedAt = allocate(4 * count);
}

/** Where to put a name of so many bytes, to be told to `wantName`. */
export function nameRoom(bytes: i32): i32 {
  return allocate(bytes + slack);
}

export function wantName(name: i32, end: i32, number: i32): void {
  const hash = hashOf(name, end);
  let entry = firstEntry(wanted, wantedBits, hash);
  while (load<i64>(entry) != 0) entry = nextEntry(wanted, wantedBits, entry);
  setEntry(entry, number + 1, hash, name, end);
}

/** Where to put `bytes` bytes of text, the first of which is at the position `first`. */
export function reserve(bytes: i32, first: i32): i32 {
  if (bytes > textBytes) {
    textBytes = max(bytes, 2 * textBytes);
    text = allocate(2 * (textBytes + slack)); // names are never longer than the text they are in
  }
  base = text - first;
  return text;
}

/** Reads the text between two positions; what it found out stands in `found`. */
export function read(start: i32, end: i32): void {
  memberCount = 0;
  keyCount = 0;
  firstObject = nextObject;
  names = text + textBytes + slack;
  hasOperator = false;
  repeatStart = 0;
  fault = nothing;

  const limit = base + end;
  const behind = load<u8>(limit);
  store<u8>(limit, 0); // ends every token, and is none
  const first = spaceEnd(base + start);
  const last = valueEnd(first);
  if (last != 0) {
    const next = spaceEnd(last);
    if (next < limit) fail(goesOn, next);
    else if (repeatStart != 0) fail(repeatsKey, repeatStart - 1);
  }
  store<u8>(limit, behind);

  store<i32>(found, first - base);
  store<i32>(found, last - base, 4);
  store<i32>(found, memberCount, 8);
  store<i32>(found, members, 12);
  store<i32>(found, wantedAt, 16);
  store<i32>(found, i32(hasOperator), 20);
  store<i32>(found, fault, 24);
  store<i32>(found, faultAt - base, 28);
  store<i32>(found, repeatEnd - base, 32);
}

/** What `pass` takes for good. */
export function expect(longestIdentity: i32, seed: i32, longestTs: i32): void {
  identityBytes = longestIdentity;
  identitySeed = seed;
  tsBytes = longestTs;
}

/** Where to put the bounds of so many rows. */
export function rowTable(count: i32): i32 {
  if (count > mostRows) {
    mostRows = count;
    rows = allocate(14 * count);
  }
  return rows;
}

/**
 * Passes the rows from `row` on that are upload records as most are written: surely good, and to be sent as they stand.
 * Returns the first one that is not, which was read as by `read`, or `count`.
 */
export function pass(row: i32, count: i32): i32 {
  for (; row < count; row += 1) {
    const bounds = rows + 8 * row;
    const start = load<i32>(bounds);
    const end = load<i32>(bounds, 4);
    read(start, end);
    if (fault != nothing || load<i32>(found) != start || load<i32>(found, 4) != end) break;
    const isEvent = isText(memberOf(Name.type), 5, 0x74_6e65_7665); // event
    if (!(isEvent ? isEventRecord() : isProfileRecord()) || !isKeyed() || !hasGoodTs()) break;
    store<i32>(rows + 8 * count + 4 * row, keyHash());
    store<bool>(rows + 12 * count + row, isEvent);
    store<bool>(rows + 13 * count + row, !isEvent && !hasOperator);
  }
  return row;
}

// What `src/mapping/typed-record.ts` asks of an upload record, without what is unusual: escapes, other keys than the
// identity, lines of a rejects file.

function isProfileRecord(): bool {
  return isText(memberOf(Name.type), 7, 0x65_6c69_666f_7270) && isObject(memberOf(Name.profileData));
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
  const start = base + load<i32>(member, 8);
  const end = base + load<i32>(member, 12);
  return end - start <= tsBytes && digitsEnd(start) == end;
}

/** FNV-1a of the identity (`src/mapping/key-hash.ts`). */
function keyHash(): i32 {
  const member = memberOf(Name.identity);
  const end = base + load<i32>(member, 12) - 1;
  let hash = identitySeed;
  for (let at = base + load<i32>(member, 8) + 1; at < end; at += 1) hash = (hash ^ load<u8>(at)) * 16_777_619;
  return hash & 0x7fff_ffff;
}

/** The topmost object's member with the name of this number, or 0. */
function memberOf(name: Name): i32 {
  const index = load<i32>(wantedAt + 4 * name); // of this text or of one before it
  const member = members + memberBytes * index;
  return index < memberCount && load<i32>(member, 20) == name ? member : 0;
}

function isObject(member: i32): bool {
  return member != 0 && load<u8>(base + load<i32>(member, 8)) == 0x7b;
}

/** Whether it is a string of these up to 7 bytes, written without escapes. */
function isText(member: i32, length: i32, bytes: u64): bool {
  if (member == 0) return false;
  const start = base + load<i32>(member, 8);
  if (load<u8>(start) != 0x22 || base + load<i32>(member, 12) - start != length + 2) return false;
  return firstBits(load<u64>(start, 1), 8 * length) == bytes;
}

/** Whether it is a string of at least one byte, without escapes and control characters. */
function isGoodText(member: i32, most: i32): bool {
  if (member == 0 || load<i32>(member, 16) != 0) return false;
  const start = base + load<i32>(member, 8);
  const end = base + load<i32>(member, 12) - 1;
  if (load<u8>(start) != 0x22 || end == start + 1 || end - start - 1 > most) return false;
  for (let at = start + 1; at < end; at += 1) if (load<u8>(at) == 0x7f) return false; // others are no JSON
  return true;
}

/** Behind the value that begins at `start`, or 0. One loop for all depths. */
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
      if (depth == deepest) return fail(tooDeep, at);
      depth += 1;
      object = byte == 0x7b ? nextObject : array;
      if (byte == 0x7b) nextObject += 1;
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
      if (next != (isObject ? 0x7d : 0x5d)) return fail(isObject ? commaOrBrace : commaOrBracket, at);
      at += 1;
      depth -= 1;
      object = load<i64>(containers + 8 * depth);
    }
  }
}

/** Where the value of the member begins whose key begins at `quote`, or 0. */
// @ts-ignore
@inline function memberValue(quote: i32, object: i64, depth: i32): i32 {
  if (load<u8>(quote) != 0x22) return fail(key, quote);
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
  if (load<u8>(name) == 0x24 && !hasOperator) hasOperator = isOperator(name, nameEnd);
  if (!addKey(object, hash, name, nameEnd) && repeatStart == 0) {
    repeatStart = start;
    repeatEnd = end;
  }

  let at = spaceEnd(end + 1);
  if (load<u8>(at) != 0x3a) return fail(colon, at);
  at = spaceEnd(at + 1);
  if (depth == 1) {
    if (memberCount == mostMembers) growMembers();
    memberCount += 1;
    const member = lastMember();
    store<i32>(member, start - base);
    store<i32>(member, end - base, 4);
    store<i32>(member, at - base, 8);
    const number = wantedNumber(hash, name, nameEnd);
    store<i32>(member, number, 20);
    if (number >= 0) store<i32>(wantedAt + 4 * number, memberCount - 1);
    hasEscape = false;
  }
  return at;
}

// @ts-ignore
@inline function lastMember(): i32 {
  return members + memberBytes * (memberCount - 1);
}

// @ts-ignore
@inline function endMember(at: i32): void {
  const member = lastMember();
  store<i32>(member, at - base, 12);
  store<i32>(member, i32(hasEscape), 16);
}

function growMembers(): void {
  const grown = allocate(2 * memberBytes * mostMembers);
  memory.copy(grown, members, memberBytes * mostMembers);
  members = grown;
  mostMembers *= 2;
}

/** The number of the name, or -1 if it is not wanted. */
function wantedNumber(hash: u64, name: i32, end: i32): i32 {
  let entry = firstEntry(wanted, wantedBits, hash);
  while (load<i64>(entry) != 0) {
    if (isNamed(entry, hash, name, end)) return <i32>load<i64>(entry) - 1;
    entry = nextEntry(wanted, wantedBits, entry);
  }
  return -1;
}

/** False if the object has a key of this name already. */
// @ts-ignore
@inline function addKey(object: i64, nameHash: u64, name: i32, end: i32): bool {
  if (keyCount == 1 << (keyBits - 1)) growKeys();
  const hash = mixed(nameHash, object);
  let entry = firstEntry(keys, keyBits, hash);
  while (load<i64>(entry) >= firstObject) {
    if (load<i64>(entry) == object && isNamed(entry, hash, name, end)) return false;
    entry = nextEntry(keys, keyBits, entry);
  }
  setEntry(entry, object, hash, name, end);
  keyCount += 1;
  return true;
}

// @ts-ignore
@inline function firstEntry(table: i32, bits: i32, hash: u64): i32 {
  return table + entryBytes * <i32>(hash >> (64 - bits));
}

// @ts-ignore
@inline function nextEntry(table: i32, bits: i32, entry: i32): i32 {
  const next = entry + entryBytes;
  return next == table + (entryBytes << bits) ? table : next;
}

// @ts-ignore
@inline function setEntry(entry: i32, what: i64, hash: u64, name: i32, end: i32): void {
  store<i64>(entry, what);
  store<u64>(entry, hash, 8);
  store<i32>(entry, name, 16);
  store<i32>(entry, end, 20);
}

function isNamed(entry: i32, hash: u64, name: i32, end: i32): bool {
  if (load<u64>(entry, 8) != hash) return false;
  let other = load<i32>(entry, 16);
  if (load<i32>(entry, 20) - other != end - name) return false;
  for (let at = name; at < end; at += 1) {
    if (load<u8>(at) != load<u8>(other)) return false;
    other += 1;
  }
  return true;
}

function growKeys(): void {
  let old = keys;
  const oldEnd = keys + (entryBytes << keyBits);
  keyBits += 1;
  keys = allocate(entryBytes << keyBits);
  for (; old < oldEnd; old += entryBytes) {
    if (load<i64>(old) < firstObject) continue;
    let entry = firstEntry(keys, keyBits, load<u64>(old, 8));
    while (load<i64>(entry) != 0) entry = nextEntry(keys, keyBits, entry);
    memory.copy(entry, old, entryBytes);
  }
}

function hashOf(name: i32, end: i32): u64 {
  let hash: u64 = 0;
  let at = name;
  for (; at + 8 <= end; at += 8) hash = mixed(hash, load<u64>(at));
  return mixed(hash, firstBits(load<u64>(at), <u64>(8 * (end - at))));
}

// @ts-ignore
@inline function mixed(hash: u64, word: u64): u64 {
  return (rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15;
}

// @ts-ignore
@inline function firstBits(word: u64, bits: u64): u64 {
  return word & ((1 << bits) - 1);
}

/** Writes the key between these places without escapes, and returns where that ends. */
function spell(start: i32, end: i32, name: i32): i32 {
  let to = name;
  for (let at = start; at < end; at += 1) {
    let code = <i32>load<u8>(at);
    if (code == 0x5c) {
      at += 1;
      code = load<u8>(at);
      if (code == 0x75) {
        code = hexAt(at + 1);
        at += 4;
        if ((code & 0xfc00) == 0xd800 && load<u16>(at, 1) == 0x755c && (hexAt(at + 3) & 0xfc00) == 0xdc00) {
          code = 0x10000 + ((code & 0x3ff) << 10) + (hexAt(at + 3) & 0x3ff);
          at += 6;
        }
        to = storeCode(to, code);
        continue;
      }
      code = escaped(code);
    }
    store<u8>(to, code);
    to += 1;
  }
  return to;
}

/** What the letter of a short escape stands for. */
function escaped(letter: i32): i32 {
  if (letter == 0x62) return 0x08;
  if (letter == 0x66) return 0x0c;
  if (letter == 0x6e) return 0x0a;
  if (letter == 0x72) return 0x0d;
  return letter == 0x74 ? 0x09 : letter;
}

function hexAt(at: i32): i32 {
  let code = 0;
  for (let digit = at; digit < at + 4; digit += 1) {
    const byte = <i32>load<u8>(digit);
    code = (code << 4) + (byte & 15) + 9 * (byte >> 6);
  }
  return code;
}

/** As UTF-8, and half of a surrogate pair by the same scheme, so that different halves stay different. */
function storeCode(to: i32, code: i32): i32 {
  if (code < 0x80) {
    store<u8>(to, code);
    return to + 1;
  }
  let at = to;
  if (code < 0x800) {
    store<u8>(at, 0xc0 | (code >> 6));
  } else {
    if (code > 0xffff) {
      store<u8>(at, 0xf0 | (code >> 18));
      at += 1;
      store<u8>(at, 0x80 | ((code >> 12) & 0x3f));
    } else store<u8>(at, 0xe0 | (code >> 12));
    at += 1;
    store<u8>(at, 0x80 | ((code >> 6) & 0x3f));
  }
  store<u8>(at, 0x80 | (code & 0x3f), 1);
  return at + 2;
}

/** From within a string to behind its closing quote, or 0. */
// @ts-ignore
@inline function stringEnd(from: i32): i32 {
  let at = from;
  while (true) {
    let others = othersIn(load<u64>(at));
    while (others == 0) {
      at += 8;
      others = othersIn(load<u64>(at));
    }
    at += <i32>(ctz(others) >> 3);
    const byte = load<u8>(at);
    if (byte == 0x22) return at + 1;
    if (byte != 0x5c) return fail(inString, at);
    hasEscape = true;
    at = escapeEnd(at + 1);
    if (at == 0) return 0;
  }
}

/** Bytes that are a quote, a backslash or a control character: the lowest bit that is set is the top bit of the first. */
// @ts-ignore
@inline function othersIn(word: u64): u64 {
  const quotes = word ^ 0x0202020202020202; // a quote becomes 0x20, and control characters stay below
  const backslashes = word ^ 0x5c5c5c5c5c5c5c5c;
  const isQuote = (quotes - 0x2121212121212121) & ~quotes;
  const isBackslash = (backslashes - 0x0101010101010101) & ~backslashes;
  return (isQuote | isBackslash) & 0x8080808080808080;
}

/** Behind the escape whose letter is at `at`, or 0. */
function escapeEnd(at: i32): i32 {
  const letter = load<u8>(at);
  if (letter != 0x75) return isEscape(letter) ? at + 1 : fail(inString, at);
  for (let digit = at + 1; digit <= at + 4; digit += 1) {
    if (!isHexDigit(load<u8>(digit))) return fail(inString, digit);
  }
  return at + 5;
}

function isEscape(byte: i32): bool {
  if (byte == 0x22 || byte == 0x5c || byte == 0x2f) return true;
  return byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 || byte == 0x74; // b f n r t
}

function isHexDigit(byte: i32): bool {
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

// @ts-ignore
@inline function isDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}

/** Behind the number, `true`, `false` or `null` at `start` (RFC 8259, 3 and 6), or 0. */
function scalarEnd(start: i32): i32 {
  const word = load<u32>(start);
  if (word == 0x65757274 || word == 0x6c6c756e) return start + 4; // true, null
  if (word == 0x736c6166 && load<u8>(start, 4) == 0x65) return start + 5; // fals, e
  let at = load<u8>(start) == 0x2d ? start + 1 : start;
  let end = digitsEnd(at);
  if (end == at) return fail(at == start ? value : digit, at);
  if (load<u8>(at) == 0x30) end = at + 1; // no leading zeros: in 01 the number is the 0
  if (load<u8>(end) == 0x2e) {
    at = end + 1;
    end = digitsEnd(at);
    if (end == at) return fail(digit, at);
  }
  if ((load<u8>(end) | 0x20) == 0x65) {
    const sign = load<u8>(end, 1);
    at = sign == 0x2b || sign == 0x2d ? end + 2 : end + 1;
    end = digitsEnd(at);
    if (end == at) return fail(digit, at);
  }
  return end;
}

function digitsEnd(start: i32): i32 {
  let at = start;
  while (isDigit(load<u8>(at))) at += 1;
  return at;
}

// @ts-ignore
@inline function spaceEnd(start: i32): i32 {
  let at = start;
  while (isSpace(load<u8>(at))) at += 1;
  return at;
}

// @ts-ignore
@inline function isSpace(byte: i32): bool {
  return byte <= 0x20 && (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09);
}

function fail(what: i32, at: i32): i32 {
  fault = what;
  faultAt = at;
  return 0;
}

/** New memory of zeros. */
function allocate(bytes: i32): i32 {
  const start = heap;
  heap += (bytes + 7) & ~7;
  const missing = heap - (memory.size() << 16);
  if (missing > 0 && memory.grow((missing + 0xffff) >> 16) < 0) unreachable();
  return start;
}

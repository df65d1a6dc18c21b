// The keys of all objects of a text, which tell a key that its object has already.
//
// Memory: a table as in `names.ts`, whose entries are of the number of an object. Objects are numbered through all texts,
// so that a key of an earlier text is free to be overwritten.

import { allocate } from './memory';
import { entryBytes, firstEntry, isNamed, mixed, nextEntry, setEntry } from '../memory';

let bits: i32 = 8;
let keys: i32 = allocate(entryBytes << bits);
let count: i32 = 0;
let firstObject: i64 = 1;
let nextObject: i64 = 1;

/** Before a text. */
export function forgetKeys(): void {
  count = 0;
  firstObject = nextObject;
}

/** The number of another object. */
// @ts-ignore
@inline export function newObject(): i64 {
  const object = nextObject;
  nextObject += 1;
  return object;
}

/** False if the object has a key of this name already. */
// @ts-ignore
@inline export function addKey(object: i64, nameHash: u64, name: i32, end: i32): bool {
  if (count == 1 << (bits - 1)) grow();
  const hash = mixed(nameHash, object);
  let entry = firstEntry(keys, bits, hash);
  while (load<i64>(entry) >= firstObject) {
    if (load<i64>(entry) == object && isNamed(entry, hash, name, end)) return false;
    entry = nextEntry(keys, bits, entry);
  }
  setEntry(entry, object, hash, name, end);
  count += 1;
  return true;
}

function grow(): void {
  let old = keys;
  const oldEnd = keys + (entryBytes << bits);
  bits += 1;
  keys = allocate(entryBytes << bits);
  for (; old < oldEnd; old += entryBytes) {
    if (load<i64>(old) < firstObject) continue;
    let entry = firstEntry(keys, bits, load<u64>(old, 8));
    while (load<i64>(entry) != 0) entry = nextEntry(keys, bits, entry);
    memory.copy(entry, old, entryBytes);
  }
}

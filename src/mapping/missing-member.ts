import type { JsonText } from './json-text.js';

/** What is said of a member that has to be there: perhaps it is, in other letters. */
export function missingMember(json: JsonText, name: string): string {
  for (let index = 0; index < json.count; index++) {
    const key = json.bytes.toString('utf8', json.keyStart(index), json.keyEnd(index));
    if (key.toLowerCase() !== name.toLowerCase()) continue;
    return `${name} is missing; the record has "${key}": write it "${name}"`;
  }
  return `${name} is missing`;
}

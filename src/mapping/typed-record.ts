import { CellText } from '../text/text-slice.js';
import { keyParts } from '../text/record-hash.js';
import { shown, takeKey, textFault } from './identity.js';
import { epochDigits } from './timestamps.js';
import { token, type JsonText } from '../text/json-parser.js';
import type { RecordBuilder } from './record-block.js';

/** The one that orders the record comes last. */
const keys = keyParts.toReversed();
const [profile, event] = [Buffer.from('profile'), Buffer.from('event')];
const text = new CellText();

/** Checks the shape of a record that says its type, and passes it byte for byte. */
export function writeTypedRecord(
  json: JsonText,
  typeIndex: number,
  records: RecordBuilder,
): string | undefined {
  const type = json.stringAt(typeIndex, text);
  records.isEvent = type?.is(event) === true;
  if (!records.isEvent && type?.is(profile) !== true) {
    return 'type is neither "profile" nor "event"';
  }
  records.converges = !json.hasOperator;
  records.pass(json.start, json.end);
  const faults = [
    keyFault(json, records),
    tsFault(json),
    records.isEvent ? eventFault(json) : objectFault(json, 'profileData'),
  ].filter((fault) => fault !== undefined);
  return faults.length > 0 ? faults.join('; ') : undefined;
}

/** Every key that is there has to be good; the first of `keyParts` orders the record. */
function keyFault(json: JsonText, records: RecordBuilder): string | undefined {
  let hasKey = false;
  for (const part of keys) {
    const index = json.find(part);
    if (index < 0) continue;
    const value = json.stringAt(index, text);
    if (!value) return `${part} is no string: put it in quotes`;
    const fault = takeKey(part, value, records);
    if (fault !== undefined) return `${part}: ${fault}`;
    hasKey = true;
  }
  return hasKey ? undefined : missingMember(json, 'identity');
}

function tsFault(json: JsonText): string | undefined {
  const index = json.find('ts');
  if (index < 0) return undefined;
  const value = text.of(json.bytes, json.valueStart(index), json.valueEnd(index));
  if (value.end - value.start <= epochDigits && /^\d+$/.test(value.toString())) return undefined;
  return `ts: ${shown(value)} is no number of epoch seconds with at most ${epochDigits} digits`;
}

function eventFault(json: JsonText): string | undefined {
  const index = json.find('evtName');
  if (index < 0) return missingMember(json, 'evtName');
  return nameFault(json, index, 'evtName') ?? objectFault(json, 'evtData');
}

/** Why a member cannot name an event. */
export function nameFault(json: JsonText, index: number, member: string): string | undefined {
  const value = json.stringAt(index, text);
  const fault = value ? textFault(value) : 'the value is no string';
  return fault === undefined ? undefined : `${member}: ${fault}`;
}

function objectFault(json: JsonText, member: 'profileData' | 'evtData'): string | undefined {
  const index = json.find(member);
  if (index < 0) return member === 'evtData' ? undefined : missingMember(json, member);
  return json.kindOf(index) === token.openObject ? undefined : `${member} is no object`;
}

/** What is said of a member that has to be there: perhaps it is, in other letters. */
function missingMember(json: JsonText, name: string): string {
  for (let index = 0; index < json.count; index++) {
    const key = json.bytes.toString('utf8', json.keyStart(index), json.keyEnd(index));
    if (key.toLowerCase() !== name.toLowerCase()) continue;
    return `${name} is missing; the record has "${key}": write it "${name}"`;
  }
  return `${name} is missing`;
}

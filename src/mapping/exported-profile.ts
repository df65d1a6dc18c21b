import { CellText } from './cell-text.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import { named } from './member-names.js';
import { pieceOf } from './json-writer.js';
import type { RecordBuilder } from './record-builder.js';
import { takeKey } from './record-key.js';

/** Members of an export beside profileData, and the profile fields they are uploaded as. */
const fields = (
  [
    ['email', 'Email'],
    ['name', 'Name'],
    ['phone', 'Phone'],
  ] as const
).map(([from, to]) => ({ from: named[from], to: named[to], prefix: pieceOf(`,"${to}":`) }));

const openIdentity = pieceOf('{"identity":');
const openData = pieceOf(',"type":"profile","profileData":{');
const text = new CellText();
const profileData = new JsonText();

/** Writes a profile as endpoint 4 or 5 exported it as an upload record, or says why it cannot. */
export function writeExportedProfile(json: JsonText, records: RecordBuilder): string | undefined {
  const { out } = records;
  records.converges = !json.hasOperator;
  const fault = writeKey(json, records);
  if (fault !== undefined) return fault;
  out.piece(openData);
  const dataStart = out.length;
  const data = json.find(named.profileData);
  const hasData = data >= 0 && json.kindOf(data) !== token.n;
  if (hasData) {
    if (json.kindOf(data) !== token.openObject) return 'profileData is no object';
    profileData.read(json.bytes, json.valueStart(data), json.valueEnd(data));
    if (profileData.count > 0) out.raw(json.bytes, profileData.start + 1, profileData.end - 1);
  }
  for (const { from, to, prefix } of fields) {
    const index = json.find(from);
    if (index < 0 || json.isEmptyAt(index)) continue;
    if (hasData && profileData.find(to) >= 0) continue;
    out.piece(prefix, out.length === dataStart ? 1 : 0);
    out.raw(json.bytes, json.valueStart(index), json.valueEnd(index));
  }
  out.byte(token.closeObject);
  out.byte(token.closeObject);
  return undefined;
}

function writeKey(json: JsonText, records: RecordBuilder): string | undefined {
  const { out } = records;
  const index = json.find(named.identity);
  if (index >= 0 && !json.isEmptyAt(index)) {
    if (json.kindOf(index) !== token.quote) return 'identity is no string: put it in quotes';
    const [start, end] = [json.valueStart(index), json.valueEnd(index)];
    const fault = takeKey('identity', text.ofJson(json.bytes, start + 1, end - 1), records);
    out.piece(openIdentity);
    out.raw(json.bytes, start, end);
    return fault === undefined ? undefined : `identity: ${fault}`;
  }
  const objectId = firstObjectId(json);
  if (objectId === undefined) return 'an exported profile without identity or objectId';
  const id = Buffer.from(objectId);
  const fault = takeKey('objectId', text.ofCell(id, 0, id.length), records);
  out.ascii(`{"objectId":"${objectId}"`);
  return fault === undefined ? undefined : `platformInfo: objectId: ${fault}`;
}

/** Of the first device that has one. Users who never logged in have no other key. */
function firstObjectId(json: JsonText): string | undefined {
  const index = json.find(named.platformInfo);
  if (index < 0 || json.kindOf(index) !== token.openArray) return undefined;
  const entries = JSON.parse(
    json.bytes.toString('utf8', json.valueStart(index), json.valueEnd(index)),
  ) as readonly unknown[];
  for (const entry of entries) {
    const id = (entry as { objectId?: unknown } | null)?.objectId;
    if (typeof id === 'string' && id !== '') return id;
  }
  return undefined;
}

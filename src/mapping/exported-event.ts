import { CellText } from './cell-text.js';
import { shown, textFault } from './identity.js';
import { exportedInstantOf } from './instants.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import { named } from './member-names.js';
import type { RecordBuilder } from './record-builder.js';
import { takeKey } from './record-key.js';
import type { UploadMapping } from './upload-mapping.js';

const text = new CellText();
const profile = new JsonText();

/** Writes an event as endpoint 7 exported it as an upload record, or says why it cannot. */
export function writeExportedEvent(
  json: JsonText,
  records: RecordBuilder,
  options: UploadMapping,
): string | undefined {
  const { out } = records;
  records.isEvent = true;
  const props = json.find(named.event_props);
  if (json.kindOf(props) !== token.openObject) return 'event_props is no object';
  out.byte(token.openObject);
  const fault =
    writeKey(json, records) ?? writeName(json, records, options) ?? writeTs(json, records, options);
  out.ascii(',"evtData":');
  out.raw(json.bytes, json.valueStart(props), json.valueEnd(props));
  out.byte(token.closeObject);
  return fault;
}

function writeKey(json: JsonText, records: RecordBuilder): string | undefined {
  const index = json.find(named.profile);
  if (index < 0 || json.kindOf(index) !== token.openObject) return 'profile is no object';
  profile.read(json.bytes, json.valueStart(index), json.valueEnd(index));
  for (const part of ['identity', 'objectId'] as const) {
    const index = profile.find(named[part]);
    const value = index < 0 ? undefined : profile.stringAt(index, text);
    if (!value || value.isEmpty) continue;
    const fault = takeKey(part, value, records);
    records.out.ascii(`"${part}":`);
    records.out.raw(profile.bytes, profile.valueStart(index), profile.valueEnd(index));
    return fault === undefined ? undefined : `profile: ${part}: ${fault}`;
  }
  return 'profile has no identity and no objectId';
}

function writeName(json: JsonText, { out }: RecordBuilder, { eventName }: UploadMapping) {
  const index = json.find(named.event_name);
  out.ascii(',"type":"event","evtName":');
  if (index < 0) {
    if (eventName === undefined) return 'event_name is missing: name it with --event-name <name>';
    out.string(eventName);
    return undefined;
  }
  const value = json.stringAt(index, text);
  const fault = value ? textFault(value) : 'the value is no string';
  out.raw(json.bytes, json.valueStart(index), json.valueEnd(index));
  return fault === undefined ? undefined : `event_name: ${fault}`;
}

function writeTs(json: JsonText, { out }: RecordBuilder, { zone }: UploadMapping) {
  const index = json.find(named.ts);
  if (index < 0) return 'ts is missing';
  const [start, end] = [json.valueStart(index), json.valueEnd(index)];
  const value = json.stringAt(index, text) ?? text.ofCell(json.bytes, start, end);
  const instant = exportedInstantOf(value, zone);
  if (typeof instant === 'string') return `ts: ${shown(value)} ${instant}`;
  out.ascii(`,"ts":${instant}`);
  return undefined;
}

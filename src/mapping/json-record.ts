import type { RowBlock } from '../input/rows.js';
import { CellText } from './cell-text.js';
import type { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import { invalid, type Fault } from './record-builder.js';

const stages = new Set(['parse', 'validate', 'service', 'unknown', 'notSent']);
const stageText = new CellText();

/**
 * Reads the row as JSON; where it is a line of a rejects file (contract §2, Rejects file), `json`
 * ends on the record within. Returns why there is no record to send, or undefined.
 */
export function readJsonRecord(
  json: JsonText,
  { bytes, bounds }: RowBlock,
  row: number,
  retryUnknown: boolean,
): Fault | undefined {
  if (!json.readFrom(bytes, bounds[2 * row]!, bounds[2 * row + 1]!)) {
    return { stage: json.repeatsKey ? 'validate' : 'parse', error: jsonFault(json) };
  }
  const stage = rejectsStage(json);
  if (stage === 'unknown' && !retryUnknown) {
    const error = 'it is unknown whether an earlier run sent it: --retry-unknown sends it again';
    return { stage: 'unknown', error };
  }
  return unwrap(json, stage);
}

/** A rejects line may hold another one: that of a run whose input was a rejects file. */
function unwrap(json: JsonText, stage: string | undefined): Fault | undefined {
  while (stage !== undefined) {
    const index = json.find('record');
    if (index < 0 || (stage === 'parse' && json.kindOf(index) === token.quote)) {
      return invalid('it holds text that could not be read: correct it in the original input');
    }
    json.readFrom(json.bytes, json.valueStart(index), json.valueEnd(index));
    stage = rejectsStage(json);
  }
  return undefined;
}

/** The stage of a rejects line; undefined for any other record. */
function rejectsStage(json: JsonText): string | undefined {
  if (json.count < 4) return undefined;
  const stage = json.find('stage');
  const word = stage < 0 ? undefined : json.stringAt(stage, stageText)?.toString();
  if (word === undefined || !stages.has(word)) return undefined;
  if (json.find('source') < 0 || json.find('line') < 0) return undefined;
  if (json.find('record') < 0 && json.find('recordBase64') < 0) return undefined;
  return word;
}

/** What is wrong and where: by column, and by line too when the record spans several. */
function jsonFault({ bytes, fault, faultAt, start }: JsonText): string {
  const before = bytes.subarray(0, faultAt);
  const lineStart = Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r')) + 1;
  const lines = before.toString('latin1', start).split(/\r\n|\n|\r/).length;
  const where = lines > 1 ? `line ${lines} of the record, column` : 'column';
  return `JSON ${fault}, at ${where} ${faultAt - lineStart + 1}`;
}

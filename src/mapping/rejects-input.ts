import { CellText } from '../text/text-slice.js';
import { token, type JsonText } from '../text/json-parser.js';
import { cellsOfLine, type Dialect } from './cells-of-line.js';
import type { RowBlock } from '../input/row-block.js';
import type { Fault } from './record-block.js';

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
    return unknownBefore;
  }
  return unwrap(json, stage);
}

/** A rejects line may hold another one: that of a run whose input was a rejects file. */
function unwrap(json: JsonText, stage: string | undefined): Fault | undefined {
  while (stage !== undefined) {
    const index = json.find('record');
    if (index < 0) return unreadable('its bytes are no UTF-8: correct it in the original input');
    if (stage === 'parse' && json.kindOf(index) === token.quote) {
      const corrected = correctedText(json, index);
      if (typeof corrected !== 'string') return corrected;
      const bytes = Buffer.from(corrected);
      if (!json.readFrom(bytes, 0, bytes.length)) return unreadable(jsonFault(json));
      stage = rejectsStage(json);
      continue;
    }
    json.readFrom(json.bytes, json.valueStart(index), json.valueEnd(index));
    stage = rejectsStage(json);
  }
  return undefined;
}

/** Why a record of a rejects file is not sent unless that is asked for. */
export const unknownBefore = {
  stage: 'unknown',
  error: 'it is unknown whether an earlier run sent it: --retry-unknown sends it again',
} as const satisfies Fault;

const unreadable = (error: string): Fault => ({ stage: 'parse', error });

/** JSON of a text that could not be read, once it can: a line of a CSV, or JSON. */
function correctedText(json: JsonText, index: number): string | Fault {
  const member = (name: string): unknown => {
    const at = json.find(name);
    if (at < 0) return undefined;
    return JSON.parse(json.bytes.toString('utf8', json.valueStart(at), json.valueEnd(at)));
  };
  const text = JSON.parse(
    json.bytes.toString('utf8', json.valueStart(index), json.valueEnd(index)),
  ) as string;
  const columns = member('columns');
  if (!Array.isArray(columns)) return text;
  const marker = (name: keyof Dialect): Dialect => {
    const value = member(name);
    return typeof value === 'string' ? { [name]: value } : {};
  };
  const dialect = { ...marker('delimiter'), ...marker('quote'), ...marker('escape') };
  const cells = cellsOfLine(text, dialect, columns.length);
  if (typeof cells === 'string') return unreadable(cells);
  const named = columns.map((name, at) => `${JSON.stringify(name)}:${JSON.stringify(cells[at])}`);
  return `{${named.join(',')}}`;
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

import type { Zone } from '../contract/zones.js';
import type { CellText } from './cell-text.js';
import { shown } from './identity.js';
import { instantOf } from './instants.js';
import { JsonText } from './json-text.js';
import { scanNumber } from './json-tokens.js';
import { pieceOf, type JsonWriter } from './json-writer.js';
import type { RecordBuilder } from './record-builder.js';
import type { CellType } from './upload-mapping.js';

const booleans = [
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
  ['yes', true],
  ['no', false],
] as const;
const booleanWords = booleans.map(([word, value]) => ({
  bytes: Buffer.from(word),
  json: pieceOf(String(value)),
}));
const json = new JsonText();

/** Writes a cell as its type, or says why it does not fit. Numbers and JSON stay as written. */
export function writeTyped(
  text: CellText,
  type: CellType,
  records: RecordBuilder,
  zone: Zone,
): string | undefined {
  const { out } = records;
  if (text.broken) return `${shown(text)} has half of a surrogate pair`;
  switch (type) {
    case 'string':
      return writeString(text, out);
    case 'integer':
      return writeNumber(text, out, isInteger(text), 'an integer');
    case 'number':
      return writeNumber(text, out, isNumber(text), 'a number');
    case 'boolean':
      return writeBoolean(text, out);
    case 'date':
      return writeDate(text, out, zone);
    case 'json':
      return writeJson(text, records);
    default:
      return type satisfies never;
  }
}

export function writeString({ bytes, start, end }: CellText, out: JsonWriter): undefined {
  out.byte(0x22);
  out.escaped(bytes, start, end);
  out.byte(0x22);
}

function writeNumber(text: CellText, out: JsonWriter, fits: boolean, what: string) {
  if (!fits) return `${shown(text)} is not ${what}`;
  out.raw(text.bytes, text.start, text.end);
  return undefined;
}

function isNumber({ bytes, start, end }: CellText): boolean {
  return scanNumber(bytes, start, end) === end;
}

function isInteger(text: CellText): boolean {
  const { bytes, start, end } = text;
  // of what a number may hold, only a point and an exponent have bytes from here on
  for (let at = start; at < end; at++) if (bytes[at] === 0x2e || bytes[at]! > 0x39) return false;
  return isNumber(text);
}

function writeBoolean(text: CellText, out: JsonWriter): string | undefined {
  for (const { bytes, json } of booleanWords) {
    if (!isWord(text, bytes)) continue;
    out.piece(json);
    return undefined;
  }
  return `${shown(text)} is not true, false, 1, 0, yes or no`;
}

/** In any case. Setting the bit 0x20 makes a letter small and leaves digits alone. */
function isWord({ bytes, start, end }: CellText, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) {
    const byte = bytes[start + at]!;
    const isLetter = byte >= 0x40;
    if ((isLetter ? byte | 0x20 : byte) !== word[at]) return false;
  }
  return true;
}

function writeDate(text: CellText, out: JsonWriter, zone: Zone): string | undefined {
  const instant = instantOf(text, zone);
  if (typeof instant === 'string') return `${shown(text)} ${instant}`;
  out.ascii(`"$D_${instant}"`);
  return undefined;
}

function writeJson(text: CellText, records: RecordBuilder): string | undefined {
  if (!json.read(text.bytes, text.start, text.end))
    return `${shown(text)} is no JSON: it ${json.fault}`;
  if (json.hasOperator) records.converges = false;
  records.out.raw(text.bytes, json.start, json.end);
  return undefined;
}

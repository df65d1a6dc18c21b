import { EngagectlError, type ErrorId } from '../errors.js';
import { JsonText } from '../text/json-parser.js';

/**
 * The value of a file's text. Not by JSON.parse alone: it takes the last of two equal keys in silence,
 * its errors quote the file, and know no lines. Throws an error of this id, with line and column.
 */
export function parseJsonFile(
  text: string,
  file: string,
  { id, why, fix }: { readonly id: ErrorId; readonly why: string; readonly fix: string },
): unknown {
  const bytes = Buffer.from(text.replace(/^\uFEFF/, ''));
  const json = new JsonText();
  if (json.read(bytes, 0, bytes.length)) return JSON.parse(bytes.toString());
  const before = bytes.toString('utf8', 0, json.faultAt).split('\n');
  const [line, column] = [before.length, Buffer.byteLength(before.at(-1)!) + 1];
  const message = `${file}:${line}:${column}: JSON ${json.fault}`;
  throw new EngagectlError(id, message, { why, fix, file, line, column });
}

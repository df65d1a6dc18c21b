import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { limits } from '../../contract/limits.js';
import { malformed, refused } from '../refusal.js';

/**
 * The body as well-formed JSON; undefined when it is empty. Throws the Refusals 413 and 400.
 * `arrived` is told its text before that is looked at.
 */
export async function readBody(
  request: IncomingMessage,
  arrived: (text: string, bytes: number) => void = () => undefined,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= limits.requestBytes) chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const text = body.toString();
  if (bytes > 0) arrived(text, bytes);
  if (bytes > limits.requestBytes) throw refused(413, 'Request body too large');
  if (bytes === 0) return undefined;
  if (!jsonInUtf8.test(request.headers['content-type'] ?? '')) throw malformed();
  if (!isUtf8(body)) throw malformed();
  return wellFormed(text);
}

const jsonInUtf8 = /^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i;

/** The text without blanks around it; throws the Refusal 400 unless it is JSON. */
export function wellFormed(text: string): string {
  const trimmed = text.trim();
  try {
    JSON.parse(trimmed);
  } catch {
    throw malformed();
  }
  return trimmed;
}

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { limits } from '../contract/limits.js';
import { malformed, refused } from './refusal.js';
import { wellFormed } from './well-formed.js';

/** The body as well-formed JSON; undefined when it is empty. Throws the Refusals 413 and 400. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= limits.requestBytes) chunks.push(chunk);
  }
  if (bytes > limits.requestBytes) throw refused(413, 'Request body too large');
  if (bytes === 0) return undefined;
  checkContentType(request.headers['content-type']);
  return jsonText(Buffer.concat(chunks, bytes));
}

/** `application/json`, in UTF-8 when it says so. */
function checkContentType(type: string | undefined): void {
  if (!/^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i.test(type ?? '')) throw malformed();
}

function jsonText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformed();
  return wellFormed(bytes.toString('utf8'));
}

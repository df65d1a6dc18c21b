import { isUtf8 } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../contract/limits.js';
import { malformed, refused } from '../refusal.js';
import type { IncomingMessage } from 'node:http';

/**
 * The body as well-formed JSON; undefined when it is empty. Throws the Refusals 400, 413 and 415,
 * and 408 when it takes too long. `arrived` is told its text before that is looked at.
 */
export async function readBody(
  request: IncomingMessage,
  {
    arrived = () => undefined,
    withinMs = 60_000,
  }: { arrived?: (text: string, bytes: number) => void; withinMs?: number | undefined } = {},
): Promise<string | undefined> {
  const { chunks, bytes } = await inTime(chunksOf(request), withinMs);
  const body = Buffer.concat(chunks);
  const text = body.toString();
  if (bytes > 0) arrived(text, bytes);
  if (bytes > limits.requestBytes) throw refused(413, 'Request body too large');
  if (bytes === 0) return undefined;
  const encoding = request.headers['content-encoding'] ?? (isGzip(body) ? 'gzip' : 'identity');
  if (encoding !== 'identity')
    throw refused(415, `Content-Encoding ${encoding}: send the body plain`);
  if (!jsonInUtf8.test(request.headers['content-type'] ?? '')) throw malformed();
  if (!isUtf8(body)) throw malformed();
  return wellFormed(text);
}

const isGzip = (body: Buffer): boolean => body[0] === 0x1f && body[1] === 0x8b;

/** The bytes are counted beyond the limit, too, but not kept. */
async function chunksOf(request: IncomingMessage): Promise<{ chunks: Buffer[]; bytes: number }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= limits.requestBytes) chunks.push(chunk);
  }
  return { chunks, bytes };
}

/** A body that drips would have its place for ever. */
async function inTime<Result>(reading: Promise<Result>, milliseconds: number): Promise<Result> {
  const done = new AbortController();
  const late = delay(milliseconds, undefined, { signal: done.signal, ref: false }).then(() => {
    throw refused(408, `The body did not come within ${milliseconds} ms`);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    done.abort();
    // Whichever lost ends in an error that is nobody's.
    void Promise.allSettled([reading, late]);
  }
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

import { createHmac } from 'node:crypto';
import { decoded } from '../decoded.js';
import type { Position } from '../store/stored-page.js';

/** The export, and after which record its next page begins. */
export interface Cursor extends Position {
  readonly export: number;
}

/**
 * Signed, base64, percent-encoded. Its length always leaves padding, so that a client that
 * decodes it, or encodes it again, is found out.
 */
export const encodeCursor = (cursor: Cursor, secret: Uint8Array): string =>
  encodeURIComponent(base64Of(cursor, secret));

/** A cursor as it stands in the URL; undefined when it is corrupt or encoded twice. */
export function decodeCursor(text: string, secret: Uint8Array): Cursor | undefined {
  const base64 = decoded(text, '');
  const position = Buffer.from(base64, 'base64').subarray(signatureBytes).toString();
  const [exportId, ts, id] = position.trimEnd().split(' ').map(Number);
  if (exportId === undefined || ts === undefined || id === undefined) return undefined;
  const cursor = { export: exportId, ts, id };
  return base64Of(cursor, secret) === base64 ? cursor : undefined;
}

const signatureBytes = 16;

function base64Of({ export: exportId, ts, id }: Cursor, secret: Uint8Array): string {
  const text = `${exportId} ${ts} ${id}`;
  const padded = text.padEnd(Math.ceil(text.length / 3) * 3);
  const signature = createHmac('sha256', secret).update(padded).digest();
  const bytes = Buffer.concat([signature.subarray(0, signatureBytes), Buffer.from(padded)]);
  return bytes.toString('base64');
}

import { createHmac } from 'node:crypto';

/** Where a page begins: after this key. Events are in order of (ts, id), profiles of id. */
export interface Position {
  readonly export: number;
  readonly ts: number;
  readonly id: number;
}

/** Before every key. */
export const firstPosition = (exportId: number): Position => ({
  export: exportId,
  ts: -1,
  id: 0,
});

/**
 * The cursor of a position: signed, base64, percent-encoded. Its length always leaves padding, so
 * that a client that decodes it, or encodes it again, is found out.
 */
export function encodeCursor(position: Position, secret: Uint8Array): string {
  return encodeURIComponent(base64Of(position, secret));
}

/** The position of a cursor as it stands in the URL; undefined when it is corrupt or encoded twice. */
export function decodeCursor(cursor: string, secret: Uint8Array): Position | undefined {
  const base64 = decodedOnce(cursor);
  const text = Buffer.from(base64, 'base64').subarray(signatureBytes).toString();
  const [exportId, ts, id] = text.trimEnd().split(' ').map(Number);
  if (exportId === undefined || ts === undefined || id === undefined) return undefined;
  const position = { export: exportId, ts, id };
  return base64Of(position, secret) === base64 ? position : undefined;
}

const signatureBytes = 16;

function base64Of(position: Position, secret: Uint8Array): string {
  const text = `${position.export} ${position.ts} ${position.id}`;
  const padded = text.padEnd(Math.ceil(text.length / 3) * 3);
  const signature = createHmac('sha256', secret)
    .update(padded)
    .digest()
    .subarray(0, signatureBytes);
  return Buffer.concat([signature, Buffer.from(padded)]).toString('base64');
}

function decodedOnce(cursor: string): string {
  try {
    return decodeURIComponent(cursor);
  } catch {
    return '';
  }
}

import { hash } from 'node:crypto';

/** How a cuid is made of a value and, where a user has several, the name of a device. */
export type MakeCuid = (value: string, device: string | undefined) => string;

/** Characters of a cuid at most, and at least. */
const most = 50;
const fewest = 5;
const tailLength = 8;

/**
 * Readable: what a cuid cannot hold becomes `_`. Whenever something is lost by that, a digest of
 * the whole follows, so that what differs stays different.
 */
export const slug: MakeCuid = (value, device) => {
  const whole = device === undefined ? value : `${value}_${device}`;
  const plain = plainOf(whole);
  const named = /[A-Za-z]/.test(plain) ? plain : `u_${plain}`;
  // `a_b` with `c` and `a` with `b_c` would be one.
  const joinsTwoWays = device !== undefined && `${value}${device}`.includes('_');
  const isWhole = plain === whole && !joinsTwoWays;
  if (isWhole && named.length >= fewest && named.length <= most) return named;
  const head = named.slice(0, most - 1 - tailLength).replace(/_$/, '');
  return `${head}_${base32(hash('sha256', keyed(value, device), 'hex'), tailLength)}`;
};

/** Letters, digits, and one `_` for all that stands between them. */
function plainOf(text: string): string {
  const plain = text.replaceAll(/[^A-Za-z0-9]+/g, '_');
  const start = plain.startsWith('_') ? 1 : 0;
  return plain.slice(start, plain.endsWith('_') ? -1 : undefined);
}

/** Says nothing of the value to who does not have the key: HMAC-SHA256 (RFC 2104). */
export function keyedHash(key: Buffer): MakeCuid {
  const block = Buffer.alloc(blockBytes);
  (key.length > blockBytes ? Buffer.from(hash('sha256', key, 'hex'), 'hex') : key).copy(block);
  const outer = Buffer.alloc(blockBytes + 32);
  block.forEach((byte, at) => (outer[at] = byte ^ 0x5c));
  let inner = Buffer.alloc(blockBytes + 256);
  block.forEach((byte, at) => (inner[at] = byte ^ 0x36));
  return (value, device) => {
    const text = keyed(value, device);
    const room = blockBytes + 3 * text.length;
    if (inner.length < room) inner = Buffer.concat([inner], room);
    const end = blockBytes + inner.write(text, blockBytes);
    outer.write(hash('sha256', inner.subarray(0, end), 'hex'), blockBytes, 'hex');
    return `u_${base32(hash('sha256', outer, 'hex'), 26)}`;
  };
}

/** Of SHA-256. */
const blockBytes = 64;

const keyed = (value: string, device: string | undefined): string =>
  device === undefined ? value : `${value}\0${device}`;

const alphabet = Array.from('abcdefghijklmnopqrstuvwxyz234567');
/** Two characters for each ten bits. */
const pairs = alphabet.flatMap((first) => alphabet.map((second) => first + second));

/** The first characters of what hexadecimal digits are in base 32 (RFC 4648), in lower case. */
function base32(hex: string, length: number): string {
  let text = '';
  for (let at = 0; text.length < length; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16);
    text += pairs[bits >> 10]! + pairs[bits & 1023]!;
  }
  return text.slice(0, length);
}

const contactName = /e-?mail|phone|mobile|msisdn|whatsapp|(?:^|[^a-z])tel(?:$|[^a-z])/i;
const contactValue = /@|^(?:\+|00)[\d\s().-]{7,}$/;

/** By its name, or by its first value: a cuid is seen by the other party of a call. */
export const holdsContacts = (column: string, first: string): boolean =>
  contactName.test(column) || contactValue.test(first);

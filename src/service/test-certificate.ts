import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { makePrivateFolder, replaceFile } from '../files/atomic-write.js';
import type { Address } from './http-server.js';

const lifetimeMs = 365 * 24 * 3_600_000;

/**
 * Creates a self-signed certificate for loopback and the given names and addresses, valid for a year from
 * `now`. It is not a certificate authority: trusting it trusts nothing else, and clients reject CA
 * certificates as server certificates.
 */
export function makeCertificate(
  names: readonly string[],
  now: number,
): NonNullable<Address['tls']> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(oid.commonName, der(0x0c, Buffer.from('engagectl serve')))));
  const altNames = [...new Set(['localhost', '127.0.0.1', '::1', ...names])].map(alternativeName);
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40; // positive, and without leading zeros
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))), // version 3
    der(0x02, serial),
    sequence(oid.ecdsaWithSha256),
    name,
    sequence(utcTime(now), utcTime(now + lifetimeMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(oid.basicConstraints, sequence()), // not a certificate authority
        extension(oid.extendedKeyUsage, sequence(oid.serverAuth)),
        extension(oid.subjectAltName, sequence(...altNames)),
      ),
    ),
  );
  const signature = Buffer.concat([Buffer.of(0), sign('sha256', content, privateKey)]);
  const certificate = sequence(content, sequence(oid.ecdsaWithSha256), der(0x03, signature));
  const lines = certificate.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Encodes a value of ASN.1 as DER: tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 0x80 ? [] : length < 0x100 ? [0x81] : [0x82, length >> 8];
  return Buffer.concat([Buffer.of(tag, ...long, length & 0xff), content]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const set = (...parts: readonly Uint8Array[]): Buffer => der(0x31, ...parts);
const identifier = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

const oid = {
  commonName: identifier('550403'),
  ecdsaWithSha256: identifier('2a8648ce3d040302'),
  basicConstraints: identifier('551d13'),
  extendedKeyUsage: identifier('551d25'),
  subjectAltName: identifier('551d11'),
  serverAuth: identifier('2b06010505070301'),
};

const extension = (id: Buffer, value: Buffer): Buffer => sequence(id, der(0x04, value));

/** UTCTime, which has years of two digits: it ends in 2049. */
const utcTime = (instant: number): Buffer =>
  der(
    0x17,
    Buffer.from(
      `${new Date(instant)
        .toISOString()
        .replaceAll(/\.\d+|\D/g, '')
        .slice(2)}Z`,
    ),
  );

const alternativeName = (name: string): Buffer =>
  isIPv4(name) || isIPv6(name)
    ? der(0x87, addressBytes(name))
    : der(0x82, Buffer.from(name, 'latin1'));

/** Bytes of an IP address; the zone of a link-local address is not part of it. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // URL writes every IPv6 address in hexadecimal groups, with at most one `::`.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`);
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  const all = [...head, ...zeros, ...tail];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** Writes the certificate into the folder for clients to trust; returns the path of the file. */
export function writeCertificate(cert: string, folder: string, name: string): string {
  makePrivateFolder(folder);
  const file = join(folder, name);
  // World-readable: a certificate is public, and containers of other users read it.
  replaceFile(file, cert, { mode: 0o644 });
  return file;
}

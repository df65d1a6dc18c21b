import { isIP } from 'node:net';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { makePrivateFolder, replaceFile } from '../files/atomic-write.js';
import type { Address } from './http-server.js';

/**
 * Creates a self-signed certificate for loopback and the given names and addresses. It is not a certificate
 * authority: trusting it trusts nothing else, and clients reject CA certificates as server certificates.
 */
export async function makeCertificate(
  names: readonly string[],
): Promise<NonNullable<Address['tls']>> {
  const attributes = [{ name: 'commonName', value: 'engagectl serve' }];
  const altNames = [...new Set(['localhost', '127.0.0.1', '::1', ...names])].map((name) =>
    isIP(name) > 0 ? ({ type: 7, ip: name } as const) : ({ type: 2, value: name } as const),
  );
  const made = await generate(attributes, {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames },
    ],
  });
  return { cert: `${made.cert}\n`, key: made.private };
}

/** Writes the certificate into the folder for clients to trust; returns the path of the file. */
export function writeCertificate(cert: string, folder: string, name: string): string {
  makePrivateFolder(folder);
  const file = join(folder, name);
  // World-readable: a certificate is public, and containers of other users read it.
  replaceFile(file, cert, { mode: 0o644 });
  return file;
}

import { isIP } from 'node:net';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { makePrivateFolder, replaceFile } from '../files/atomic-write.js';
import type { Address } from './http-server.js';

/**
 * A certificate for these names and addresses, signed by itself: who trusts it trusts nothing else by
 * that. It is no authority, since clients refuse an authority's certificate as that of a server.
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

/** Writes it into the folder, for those who are to trust it; returns the file's path. */
export function writeCertificate(cert: string, folder: string, name: string): string {
  makePrivateFolder(folder);
  const file = join(folder, name);
  // Readable for all: a certificate is public, and another user's container has to read it.
  replaceFile(file, cert, { mode: 0o644 });
  return file;
}

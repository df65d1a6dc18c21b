import path from 'node:path';
import { rmSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { createSecureContext } from 'node:tls';
import { EngagectlError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { ServeFlags } from './flags.js';

export interface Tls {
  readonly cert: string;
  readonly key: string;
  /** Generated for this run. */
  readonly isMade: boolean;
}

/** Returns the given or generated certificate; undefined for plain HTTP. */
export async function resolveTls(
  flags: ServeFlags,
  runtime: Pick<Runtime, 'cwd' | 'now' | 'signal'>,
): Promise<Tls | undefined> {
  const { tlsCert, tlsKey, tls, host, allowHost = [] } = flags;
  if (tlsCert !== undefined || tlsKey !== undefined) return givenTls(tlsCert, tlsKey, runtime);
  if (!tls) return undefined;
  const { makeCertificate } = await import('../../service/test-certificate.js');
  return { ...makeCertificate([...hostNames(host), ...allowHost], runtime.now()), isMade: true };
}

/** Returns the host names of the certificate: for all interfaces, every address of this machine. */
function hostNames(host: string | undefined): string[] {
  if (host === undefined) return [];
  if (host !== '0.0.0.0' && host !== '::') return [host];
  return Object.values(networkInterfaces()).flatMap((all = []) =>
    all.map(({ address }) => address),
  );
}

/** File with the certificate for clients to trust, which exists while the service runs. */
export interface TrustFile {
  readonly file: string;
  readonly remove: () => void;
}

/** Writes the certificate. The file name has the port, because several services may share a directory. */
export async function writeTrustFile(
  { cert }: Tls,
  folder: string,
  url: string,
): Promise<TrustFile> {
  const { writeCertificate } = await import('../../service/test-certificate.js');
  try {
    const file = writeCertificate(cert, folder, `certificate-${new URL(url).port}.pem`);
    return { file, remove: () => rmSync(file, { force: true }) };
  } catch (error) {
    throw new EngagectlError('E-FILE-WRITE', `cannot write the certificate to ${folder}`, {
      why: (error as Error).message,
      fix: 'select another directory with ENGAGECTL_STATE_DIR, or pass --tls-cert and --tls-key',
      file: folder,
      cause: error,
    });
  }
}

async function givenTls(
  certFile = '',
  keyFile = '',
  { cwd, signal }: Pick<Runtime, 'cwd' | 'signal'>,
): Promise<Tls> {
  if (certFile === '' || keyFile === '')
    throw new EngagectlError('E-USAGE', '--tls-cert and --tls-key must be used together', {
      why: 'one of them is missing',
      fix: 'pass both, or --tls for a generated certificate',
    });
  const cert = await textOf(path.resolve(cwd, certFile), signal);
  const key = await textOf(path.resolve(cwd, keyFile), signal);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new EngagectlError(
      'E-USAGE',
      `Cannot use the certificate ${certFile} with the key ${keyFile}`,
      {
        why: (error as Error).message,
        fix: 'pass a certificate and its key as PEM files, without a passphrase',
        cause: error,
      },
    );
  }
  return { cert, key, isMade: false };
}

async function textOf(file: string, signal: AbortSignal): Promise<string> {
  const { readTextFile } = await import('../../files/read-file.js');
  try {
    return await readTextFile(file, signal);
  } catch (error) {
    if (error instanceof EngagectlError) throw error; // the signal
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, {
      why: (error as NodeJS.ErrnoException).code ?? 'unknown cause',
      fix: 'check the path and the permissions of the file',
      file,
      cause: error,
    });
  }
}

import path from 'node:path';
import { readFileSync, rmSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { createSecureContext } from 'node:tls';
import { EngagectlError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { ServeFlags } from './flags.js';

export interface Tls {
  readonly cert: string;
  readonly key: string;
  /** Made for this run, and not given. */
  readonly isMade: boolean;
}

/** The certificate to speak TLS with, given or made; undefined for plain HTTP. */
export async function resolveTls(
  flags: ServeFlags,
  runtime: Pick<Runtime, 'cwd'>,
): Promise<Tls | undefined> {
  const { tlsCert, tlsKey, tls, host, allowHost = [] } = flags;
  if (tlsCert !== undefined || tlsKey !== undefined) return givenTls(tlsCert, tlsKey, runtime);
  if (!tls) return undefined;
  const { makeCertificate } = await import('../../service/test-certificate.js');
  return { ...(await makeCertificate([...hostNames(host), ...allowHost])), isMade: true };
}

/** Others reach a service on all interfaces by any address of this machine. */
function hostNames(host: string | undefined): string[] {
  if (host === undefined) return [];
  if (host !== '0.0.0.0' && host !== '::') return [host];
  return Object.values(networkInterfaces()).flatMap((all = []) =>
    all.map(({ address }) => address),
  );
}

/** A certificate that is in a file for those who are to trust it, while the service runs. */
export interface TrustFile {
  readonly file: string;
  readonly remove: () => void;
}

/** The file bears the port's number: several services may run at once with one folder. */
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
    throw new EngagectlError('E-FILE-WRITE', `${folder}: the certificate cannot be kept there`, {
      why: (error as Error).message,
      fix: 'choose another folder: ENGAGECTL_STATE_DIR; or give a certificate: --tls-cert, --tls-key',
      file: folder,
      cause: error,
    });
  }
}

function givenTls(certFile = '', keyFile = '', { cwd }: Pick<Runtime, 'cwd'>): Tls {
  if (certFile === '' || keyFile === '')
    throw new EngagectlError('E-USAGE', '--tls-cert and --tls-key belong together', {
      why: 'one of them is missing',
      fix: 'give both, or --tls for a certificate made for the run',
    });
  const [cert = '', key = ''] = [certFile, keyFile].map((file) => textOf(path.resolve(cwd, file)));
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new EngagectlError('E-USAGE', `${certFile} and ${keyFile} cannot be used`, {
      why: (error as Error).message,
      fix: 'give the PEM of a certificate and that of its key, without a passphrase',
      cause: error,
    });
  }
  return { cert, key, isMade: false };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new EngagectlError('E-FILE-READ', `${file} cannot be read`, {
      why: (error as NodeJS.ErrnoException).code ?? 'the file cannot be read',
      fix: 'check its path and who may read it',
      file,
      cause: error,
    });
  }
}

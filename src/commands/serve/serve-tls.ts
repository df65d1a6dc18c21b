import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { EngagectlError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { ServeFlags } from './serve-command.js';

export interface Tls {
  readonly cert: string;
  readonly key: string;
  /** Where the certificate that was made for this run is; undefined for one that was given. */
  readonly file: string | undefined;
  /** Removes what was made for this run. */
  readonly remove: () => void;
}

/** The certificate to speak TLS with, given or made; undefined for plain HTTP. */
export async function tlsOf(
  flags: ServeFlags,
  folder: string,
  runtime: Pick<Runtime, 'cwd'>,
): Promise<Tls | undefined> {
  const { tlsCert, tlsKey, tls, host, allowHost = [] } = flags;
  if (tlsCert !== undefined || tlsKey !== undefined) return givenTls(tlsCert, tlsKey, runtime);
  if (!tls) return undefined;
  const { makeCertificate, writeCertificate } = await import('../../service/test-certificate.js');
  const made = await makeCertificate([...(host === undefined ? [] : [host]), ...allowHost]);
  try {
    const file = writeCertificate(made.cert, folder);
    return { ...made, file, remove: () => rmSync(file, { force: true }) };
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
  return { cert, key, file: undefined, remove: () => undefined };
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

import { lookup } from 'node:dns/promises';
import { access, constants } from 'node:fs/promises';
import { isLoopback } from '../../contract/endpoints.js';
import { EngagectlError, countOf } from '../../errors.js';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { undiciVersion } from '../../client/client.js';
import { sqliteVersion } from '../../files/file-lock.js';
import type { Runtime } from '../../runtime.js';

/** A check that passed with a problem that will cause failures later or in some cases. */
export interface DoctorWarning {
  readonly warning: string;
  readonly fix: string;
}

type Env = Runtime['env'];

/** Reports the proxy variables, with passwords redacted. */
export function checkProxy(url: URL, { env }: Pick<Runtime, 'env'>): string {
  const set = ['https_proxy', 'http_proxy', 'no_proxy']
    .flatMap((name) => [name, name.toUpperCase()])
    .filter((name) => env[name] !== undefined)
    .map((name) => `${name}=${withoutPassword(env[name] ?? '')}`);
  if (set.length === 0) return 'none set';
  const how = usesProxy(url, env) ? 'in effect' : `not for ${url.hostname}`;
  return `${how}: ${set.join(' ')}`;
}

/** Redacts the password of a URL, with or without a scheme, and removes what follows its path. */
const withoutPassword = (value: string): string =>
  value.replace(/^([a-z][\w+.-]*:\/\/)?[^]*@/i, '$1***@').replace(/[?#][^]*$/, '');

/** Whether a proxy makes the connection and resolves the host name. */
function usesProxy({ hostname }: URL, env: Env): boolean {
  const proxy = env['https_proxy'] ?? env['HTTPS_PROXY'] ?? env['http_proxy'] ?? env['HTTP_PROXY'];
  if (proxy === undefined || isLoopback(hostname)) return false;
  const direct = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(/[\s,]+/).filter(Boolean);
  return !direct.some((each) => {
    const name = each.replace(/^\*?\./, '').replace(/:\d+$/, '');
    return name === '*' || hostname === name || hostname.endsWith(`.${name}`);
  });
}

/** Resolves the host name of the service. Throws E-UNAVAILABLE. */
export async function checkDns(
  url: URL,
  { env, monotonic }: Pick<Runtime, 'env' | 'monotonic'>,
): Promise<string | DoctorWarning> {
  const { hostname } = url;
  if (isLoopback(hostname)) return `${hostname} is this machine`;
  if (usesProxy(url, env)) return `the proxy resolves ${hostname}`;
  const started = monotonic();
  try {
    const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
    const milliseconds = Math.round(monotonic() - started);
    const addresses = found.map(({ address }) => address).join(', ');
    const message = `${hostname} is ${addresses}`;
    if (milliseconds < slowMs) return `${message} (${milliseconds} ms)`;
    return { warning: `${message}, after ${milliseconds} ms`, fix: 'check the name servers' };
  } catch (error) {
    throw new EngagectlError('E-UNAVAILABLE', `${hostname} cannot be resolved`, {
      why: (error as NodeJS.ErrnoException).code ?? (error as Error).message,
      fix: 'check the spelling (engagectl config show), the network and its name servers',
      cause: error,
    });
  }
}

const slowMs = 2000;

/** Warns if NODE_EXTRA_CA_CERTS is unreadable, which Node.js ignores silently. */
async function extraCaCertificates({
  env,
}: Pick<Runtime, 'env'>): Promise<DoctorWarning | undefined> {
  const file = env['NODE_EXTRA_CA_CERTS'];
  if (file === undefined) return undefined;
  try {
    await access(file, constants.R_OK);
    return undefined;
  } catch {
    return { warning: `NODE_EXTRA_CA_CERTS: ${file} cannot be read`, fix: 'name a readable file' };
  }
}

/** Days before the expiry of a certificate at which to warn. */
const warnDays = 14;
const patienceMs = 10_000;

/** Checks the TLS certificate of the service and reports its issuer and expiry. */
export async function checkCertificate(
  url: URL,
  runtime: Pick<Runtime, 'env' | 'now' | 'signal'>,
): Promise<string | DoctorWarning> {
  if (url.protocol === 'http:') return 'plain http to localhost';
  if (usesProxy(url, runtime.env)) return 'not checked: the proxy makes the connection';
  const unread = await extraCaCertificates(runtime);
  const socket = dial(url);
  try {
    const stop = AbortSignal.any([runtime.signal, AbortSignal.timeout(patienceMs)]);
    await once(socket, 'secureConnect', { signal: stop });
    return unread ?? described(socket, runtime.now());
  } catch (error) {
    if (runtime.signal.aborted) throw runtime.signal.reason;
    throw refusedBy(url, error as NodeJS.ErrnoException, unread);
  } finally {
    socket.destroy();
  }
}

function dial({ hostname, port }: URL): TLSSocket {
  const host = hostname.replace(/^\[|\]$/g, '');
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: true, ...name });
  socket.on('error', () => undefined); // `once` reports the first error; later ones do not matter
  return socket;
}

function described(socket: TLSSocket, now: number): string | DoctorWarning {
  const { issuer, valid_to: end } = socket.getPeerCertificate();
  const days = Math.floor((Date.parse(end) - now) / 86_400_000);
  const until = new Date(end).toISOString().slice(0, 10);
  const message = `${socket.getProtocol()}, certificate by ${nameOf(issuer)} until ${until}`;
  if (days >= warnDays) return message;
  return {
    warning: `${message}: ${countOf(days, 'day')}`,
    fix: 'ask the operator of the service to renew the certificate',
  };
}

const nameOf = ({ O, CN }: { readonly O?: unknown; readonly CN?: unknown }): string =>
  [O, CN].filter((part) => typeof part === 'string').join(' ') || 'an unnamed issuer';

function refusedBy(
  { host }: URL,
  { code = '', message }: NodeJS.ErrnoException,
  unread: DoctorWarning | undefined,
): EngagectlError {
  const fix = fixes[code] ?? elsewhere;
  return new EngagectlError('E-UNAVAILABLE', `no secure connection to ${host}`, {
    why: code === 'ABORT_ERR' ? `no response within ${patienceMs / 1000} s` : message,
    fix: unread ? `${unread.fix}: ${unread.warning}` : fix,
  });
}

const elsewhere = 'check the address, the firewall, and whether a proxy is required (HTTPS_PROXY)';
const authority = 'for a private certificate authority, set NODE_EXTRA_CA_CERTS=<file.pem>';
const validity =
  'check the clock of this machine; if it is correct, the service must renew its certificate';
const fixes: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: authority,
  SELF_SIGNED_CERT_IN_CHAIN: authority,
  UNABLE_TO_GET_ISSUER_CERT: authority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: authority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: authority,
  CERT_HAS_EXPIRED: validity,
  CERT_NOT_YET_VALID: validity,
  ERR_TLS_CERT_ALTNAME_INVALID: 'check the base URL: the certificate is for another name',
};

/** Returns the versions of libraries to include in bug reports. */
export const libraryVersions = async () => ({ undici: undiciVersion, ...(await sqliteVersion()) });

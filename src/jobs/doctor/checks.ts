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

/** A thing that works, and will not for long or not for everything. */
export interface DoctorWarning {
  readonly warning: string;
  readonly fix: string;
}

type Env = Runtime['env'];

/** Variables that change how a connection is made. A proxy's password is not shown. */
export function checkProxy(url: URL, { env }: Pick<Runtime, 'env'>): string {
  const set = ['https_proxy', 'http_proxy', 'no_proxy']
    .flatMap((name) => [name, name.toUpperCase()])
    .filter((name) => env[name] !== undefined)
    .map((name) => `${name}=${withoutPassword(env[name] ?? '')}`);
  if (set.length === 0) return 'none set';
  const how = usesProxy(url, env) ? 'in effect' : `not for ${url.hostname}`;
  return `${how}: ${set.join(' ')}`;
}

/** Also where the scheme is missing. */
const withoutPassword = (value: string): string =>
  value.replace(/^([a-z][\w+.-]*:\/\/)?[^]*@/i, '$1***@');

/** Whether a proxy makes the connection, and looks the name up. */
function usesProxy({ hostname }: URL, env: Env): boolean {
  const proxy = env['https_proxy'] ?? env['HTTPS_PROXY'] ?? env['http_proxy'] ?? env['HTTP_PROXY'];
  if (proxy === undefined || isLoopback(hostname)) return false;
  const direct = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(/[\s,]+/).filter(Boolean);
  return !direct.some((each) => {
    const name = each.replace(/^\*?\./, '').replace(/:\d+$/, '');
    return name === '*' || hostname === name || hostname.endsWith(`.${name}`);
  });
}

/** Addresses of the service's host. */
export async function checkDns(
  url: URL,
  { env, monotonic }: Pick<Runtime, 'env' | 'monotonic'>,
): Promise<string | DoctorWarning> {
  const { hostname } = url;
  if (isLoopback(hostname)) return `${hostname} is this machine`;
  if (usesProxy(url, env)) return `the proxy looks ${hostname} up`;
  const started = monotonic();
  try {
    const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
    const milliseconds = Math.round(monotonic() - started);
    const addresses = found.map(({ address }) => address).join(', ');
    const message = `${hostname} is ${addresses}`;
    if (milliseconds < slowMs) return `${message} (${milliseconds} ms)`;
    return { warning: `${message}, after ${milliseconds} ms`, fix: 'look at the name servers' };
  } catch (error) {
    throw new EngagectlError('E-UNAVAILABLE', `${hostname} has no address`, {
      why: (error as NodeJS.ErrnoException).code ?? (error as Error).message,
      fix: 'check the spelling (engagectl config show), the network and its name servers',
      cause: error,
    });
  }
}

const slowMs = 2000;

/** Node reads this file at its start, and goes on without when it cannot. */
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

/** Days before the end of a certificate from which on it is worth a word. */
const warnDays = 14;
const patienceMs = 10_000;

/** Who vouches for the service's certificate, and how long it lasts. */
export async function checkCertificate(
  url: URL,
  runtime: Pick<Runtime, 'env' | 'now' | 'signal'>,
): Promise<string | DoctorWarning> {
  if (url.protocol === 'http:') return 'plain http to this machine';
  if (usesProxy(url, runtime.env)) return 'not looked at: the proxy makes the connection';
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
  socket.on('error', () => undefined); // told by `once`; a later one is nobody's business
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
    fix: 'whoever runs the service has to renew it',
  };
}

const nameOf = ({ O, CN }: { readonly O?: unknown; readonly CN?: unknown }): string =>
  [O, CN].filter((part) => typeof part === 'string').join(' ') || 'an unnamed authority';

function refusedBy(
  { host }: URL,
  { code = '', message }: NodeJS.ErrnoException,
  unread: DoctorWarning | undefined,
): EngagectlError {
  const fix = fixes[code] ?? elsewhere;
  return new EngagectlError('E-UNAVAILABLE', `no secure connection to ${host}`, {
    why: code === 'ABORT_ERR' ? `no answer within ${patienceMs / 1000} s` : message,
    fix: unread ? `${unread.fix}: ${unread.warning}` : fix,
  });
}

const elsewhere =
  'check the address, a firewall between, or whether a proxy is needed (HTTPS_PROXY)';
const authority =
  'where a company or a test has its own certificate authority: NODE_EXTRA_CA_CERTS=<file.pem>';
const validity =
  'check the clock of this machine; if it is right, the certificate has to be renewed at the service';
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

/** What a report of a fault names besides Node: the libraries that a fault may come from. */
export const libraryVersions = async () => ({ undici: undiciVersion, ...(await sqliteVersion()) });

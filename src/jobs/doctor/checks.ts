import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { EngagectlError, count } from '../../errors.js';
import { extraAuthorities, usesProxy, type Warning } from './network.js';
import type { Runtime } from '../../runtime.js';

/** Days before the end of a certificate from which on it is worth a word. */
const warnDays = 14;
const patienceMs = 10_000;

/** Who vouches for the service's certificate, and how long it lasts. */
export async function checkCertificate(
  url: URL,
  runtime: Pick<Runtime, 'env' | 'now' | 'signal'>,
): Promise<string | Warning> {
  if (url.protocol === 'http:') return 'plain http to this machine';
  if (usesProxy(url, runtime.env)) return 'not looked at: the proxy makes the connection';
  const unread = await extraAuthorities(runtime);
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

function described(socket: TLSSocket, now: number): string | Warning {
  const { issuer, valid_to: end } = socket.getPeerCertificate();
  const days = Math.floor((Date.parse(end) - now) / 86_400_000);
  const until = new Date(end).toISOString().slice(0, 10);
  const message = `${socket.getProtocol()}, certificate by ${nameOf(issuer)} until ${until}`;
  if (days >= warnDays) return message;
  return {
    warning: `${message}: ${count(days, 'day')}`,
    fix: 'whoever runs the service has to renew it',
  };
}

const nameOf = ({ O, CN }: { readonly O?: unknown; readonly CN?: unknown }): string =>
  [O, CN].filter((part) => typeof part === 'string').join(' ') || 'an unnamed authority';

function refusedBy(
  { host }: URL,
  { code = '', message }: NodeJS.ErrnoException,
  unread: Warning | undefined,
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

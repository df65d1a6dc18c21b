import { lookup } from 'node:dns/promises';
import { access, constants } from 'node:fs/promises';
import { isLoopback } from '../../contract/endpoints.js';
import { EngagectlError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';

/** A thing that works, and will not for long or not for everything. */
export interface Warning {
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

const withoutPassword = (value: string): string => value.replace(/\/\/[^/@]*@/, '//***@');

/** Whether a proxy makes the connection, and looks the name up. */
export function usesProxy({ hostname }: URL, env: Env): boolean {
  const proxy = env['https_proxy'] ?? env['HTTPS_PROXY'] ?? env['http_proxy'] ?? env['HTTP_PROXY'];
  if (proxy === undefined || isLoopback(hostname)) return false;
  const direct = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(/[\s,]+/).filter(Boolean);
  return !direct.some((each) => {
    const name = each.replace(/^\*?\./, '').replace(/:\d+$/, '');
    return name === '*' || hostname === name || hostname.endsWith(`.${name}`);
  });
}

/** Addresses of the service's host. */
export async function checkName(
  url: URL,
  { env, monotonic }: Pick<Runtime, 'env' | 'monotonic'>,
): Promise<string | Warning> {
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
export async function extraAuthorities({
  env,
}: Pick<Runtime, 'env'>): Promise<Warning | undefined> {
  const file = env['NODE_EXTRA_CA_CERTS'];
  if (file === undefined) return undefined;
  try {
    await access(file, constants.R_OK);
    return undefined;
  } catch {
    return { warning: `NODE_EXTRA_CA_CERTS: ${file} cannot be read`, fix: 'name a readable file' };
  }
}

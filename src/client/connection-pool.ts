import connectorOf from 'undici/lib/core/connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { isLoopback } from '../contract/endpoints.js';
import { EngagectlError, refuseUnverifiedTls } from '../errors.js';
import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';

type Env = Readonly<Record<string, string>>;

/** Connect timeout: a dead host should not cost the whole `--timeout`. */
const connectMilliseconds = 10_000;

/**
 * Opens connection pools to one service, through the proxy of the environment except for loopback.
 * Throws E-CONFIG if the environment makes connections unsafe.
 */
export async function openConnectionPools(
  base: URL,
  { maxInFlight, timeoutMs, env }: { maxInFlight: number; timeoutMs: number; env: Env },
) {
  const options = {
    // undici gives a socket its next request only after a turn of the event loop. Spare connections
    // use that time.
    connections: 2 * maxInFlight,
    connect: connectorWithin(Math.min(connectMilliseconds, timeoutMs)),
    // The transport has its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const open = await opener(base, env);
  const kept = open(options);
  let unused: Dispatcher | undefined;
  return {
    /** Pool with keep-alive. */
    kept,
    /** Pool with a new connection per request. */
    unused: () => (unused ??= open({ ...options, pipelining: 0 })),
    destroy: async () => void (await Promise.all([kept.destroy(), unused?.destroy()])),
  };
}

type Open = (options: Pool.Options & { connect: buildConnector.connector }) => Dispatcher;

/** Loads undici's proxy agent only if a proxy is set. */
async function opener(base: URL, env: Env): Promise<Open> {
  const toBase: Open = (options) => new Pool(base.origin, options);
  // Also for loopback, because another user of the machine may own the port.
  if (base.protocol === 'https:')
    refuseUnverifiedTls(env, 'the passcode could be sent to an impostor');
  if (isLoopback(base.hostname)) return toBase;
  const proxies = proxyVariables(env);
  if (proxies.httpProxy === '' && proxies.httpsProxy === '') return toBase;
  const { EnvHttpProxyAgent } = await import('undici');
  return (options) => new EnvHttpProxyAgent({ ...options, ...proxies });
}

/** Returns explicit empty values, since undici reads `process.env` for missing ones. */
function proxyVariables(env: Env) {
  const proxies = {
    httpProxy: env['http_proxy'] ?? env['HTTP_PROXY'] ?? '',
    httpsProxy: env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '',
    noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '',
  };
  for (const [name, url] of [
    ['HTTP_PROXY', proxies.httpProxy],
    ['HTTPS_PROXY', proxies.httpsProxy],
  ] as const) {
    if (url !== '' && !isProxy(url)) {
      throw new EngagectlError(
        'E-CONFIG',
        `the environment variable ${name} is not an http(s) URL`,
        {
          why: 'requests would go through the proxy that it names',
          fix: `set it like ${name}=http://user:password@proxy.example:3128 (in user and password, write %25 for %, %2F for /, %3F for ?, %23 for # and %40 for @), or unset it`,
        },
      );
    }
  }
  return proxies;
}

/** Whether undici accepts an address: what is behind the host may be a part of a password that was not encoded. */
function isProxy(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search, hash, username, password } = new URL(text);
  try {
    decodeURIComponent(username + password);
  } catch {
    return false;
  }
  return /^https?:$/.test(protocol) && pathname + search + hash === '/';
}

/**
 * Maximum bytes per read. With Node's 64 KB, the cost per read takes a quarter of an export's time. The
 * first block of a connection is smaller, because many connections get only short responses.
 */
const blockBytes = 512 * 1024;
const firstBlockBytes = 64 * 1024;

/** Creates a connector with a connect timeout in milliseconds and large reads. */
const connectorWithin =
  (timeout: number): buildConnector.connector =>
  (options, callback) => {
    const push = dropContinueResponses(
      () => socket,
      (bytes) => socket.push(bytes),
    );
    const onread = blocksFor(push);
    const socket: Socket = connectorOf({ timeout, onread })(options, callback);
  };

/** Read buffers: consecutive small responses share a block, and no byte is reused. */
function blocksFor(push: (bytes: Buffer) => boolean) {
  let size = firstBlockBytes;
  let room = Buffer.allocUnsafeSlow(size);
  return {
    buffer: () => {
      if (room.length >= size / 2) return room;
      size = blockBytes;
      room = Buffer.allocUnsafeSlow(size);
      return room;
    },
    callback: (length: number) => {
      const bytes = room.subarray(0, length);
      room = room.subarray(length);
      return push(bytes);
    },
  };
}

type Push = (bytes: Buffer) => boolean;

/** Maximum length of a `100 Continue`, bytes. */
const longest = 4096;
const interim = /^HTTP\/1\.[01] 100[ \r\n][^]*?\r?\n\r?\n/;

/**
 * Passes on the bytes of a socket without a `100 Continue` before a response. Servers may send it
 * unasked, and undici would fail the request.
 */
function dropContinueResponses(socket: () => Socket, push: Push): Push {
  let lastWritten = 0;
  /** Start of a response that may still be a `100 Continue`. */
  let held: Buffer | undefined;
  return (bytes) => {
    const { bytesWritten } = socket();
    if (bytesWritten !== lastWritten) held = Buffer.alloc(0); // a new request: its response is next
    lastWritten = bytesWritten;
    if (held === undefined) return push(bytes);
    let answer = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    for (;;) {
      const head = answer.toString('latin1', 0, longest);
      const found = interim.exec(head)?.[0].length ?? 0;
      answer = answer.subarray(found);
      if (found > 0) continue;
      held = mayBeInterim(head) ? answer : undefined;
      return held !== undefined || push(answer);
    }
  };
}

const mayBeInterim = (head: string): boolean =>
  head.length < longest &&
  ['HTTP/1.1 100', 'HTTP/1.0 100'].some((start) => start.startsWith(head.slice(0, start.length)));

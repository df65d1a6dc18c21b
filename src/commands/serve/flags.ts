import { InvalidArgumentError } from 'commander';
import { compressedExtensionsText } from '../../contract/file-formats.js';
import { choice, hostName, integer, nonEmpty, fraction } from '../flags/value-parsers.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const placeOptions = [
  [
    '--port <n>',
    'port; 0: any free port',
    { parse: integer({ max: 65_535 }), default: 8787, common: true },
  ],
  ['--data <dir>', 'data directory (default: that of --region local)', { common: true }],
  ['--memory', 'keep data in memory only', { conflicts: 'data', common: true }],
  [
    '--seed <file...>',
    `initial records of an empty store: upload records or exports, NDJSON or JSON, also ${compressedExtensionsText}`,
    { parse: nonEmpty, repeatable: true, common: true },
  ],
  ['--log', 'log each request on stderr, like -v', { common: true }],
  ['--exit-with-stdin', 'end when standard input closes, as when a test runner dies'],
] as const satisfies OptionTable;

const reachOptions = [
  [
    '--host <address>',
    'interface to listen on (default: 127.0.0.1)',
    { parse: nonEmpty, common: true },
  ],
  [
    '--allow-host <name...>',
    'accept these host names besides localhost; "emulator": the Android emulator (10.0.2.2)',
    { parse: allowedHost, repeatable: true },
  ],
  ['--tls', 'use TLS, with a certificate generated for this run', { common: true }],
  ['--tls-cert <file>', 'your own certificate (PEM)', nonEmpty],
  ['--tls-key <file>', 'private key of the certificate (PEM)', nonEmpty],
] as const satisfies OptionTable;

const simulationOptions = [
  [
    '--strict',
    'reject what the specification does not allow but deployments may tolerate',
    { common: true },
  ],
  [
    '--latency <ms>',
    'delay of every response',
    { parse: integer({ max: 600_000 }), default: 0, common: true },
  ],
  [
    '--lag <seconds>',
    'delay until writes become visible',
    { parse: integer({ max: 86_400 }), default: 0 },
  ],
  [
    '--pending <n>',
    'polls before a cursor is ready',
    { parse: integer({}), default: 0, common: true },
  ],
  [
    '--fail-rate <share[,seed]>',
    'fraction of requests that fail with 500 or 503, 0 to 1; the same seed fails the same requests',
    { parse: failRate, default: { failRate: 0 }, defaultText: '0', common: true },
  ],
  [
    '--max-concurrent <upload,other>',
    'requests in flight before 429',
    { parse: concurrency, default: { upload: 15, other: 3 }, defaultText: '15,3' },
  ],
] as const satisfies OptionTable;

/** Behaviors that differ between deployments; the first value is the default. */
const variantOptions = [
  variant('--key-style <style>', 'keys of returned profileData', 'verbatim', 'folded'),
  variant('--flags <spelling>', 'spelling of MSG-… flags', 'recorded', 'specification'),
  variant(
    '--next-cursor <place>',
    'position of next_cursor relative to records',
    'after',
    'before',
  ),
  variant('--status <place>', 'position of status in a response', 'first', 'last'),
  variant(
    '--expired-cursor <answer>',
    'response to an expired cursor',
    'code',
    'text',
    'stringCode',
  ),
  variant('--echo <way>', 'records in unprocessed', 'recorded', 'intact', 'changed'),
  variant('--record-number <way>', 'spelling of the record number', 'spaced', 'tight'),
  variant('--older-profile <way>', 'effect of an older ts', 'fills', 'overwrites'),
  variant('--whitespace <way>', 'whitespace around : and ,', 'tight', 'spaced'),
  variant('--connection <way>', 'connection after a response', 'keep', 'close'),
] as const;

function variant<const Flags extends string, const Word extends string>(
  flags: Flags,
  what: string,
  ...words: readonly Word[]
) {
  const help = `${what}: ${words.join(', ')} (default: ${words[0]})`;
  return [flags, help, choice(...words)] as const;
}

const callOptions = [
  [
    '--calls <state>',
    'calling enabled for the account: on or off (default: on)',
    choice('on', 'off'),
  ],
  ['--require-tokens', 'require a token of "call token" for each cuid'],
  [
    '--ice-servers <file>',
    'JSON array of STUN and TURN servers for voice between networks',
    nonEmpty,
  ],
  [
    '--push-hook <url|command>',
    'URL (POST) or command (JSON on stdin) to notify of calls for disconnected devices',
    nonEmpty,
  ],
  [
    '--call-speed <n>',
    'divide all call timeouts (30 s ringing) by n',
    { parse: integer({ min: 1, max: 1000 }), default: 1 },
  ],
  [
    '--call-drops <share>',
    'fraction of frames that break the connection instead, 0 to 1',
    { parse: fraction, default: 0 },
  ],
] as const satisfies OptionTable;

export const serveOptions = [
  'Service:',
  ...placeOptions,
  'Reach:',
  ...reachOptions,
  'Simulation:',
  ...simulationOptions,
  'Calls:',
  ...callOptions,
  'Response variants:',
  ...variantOptions,
] as const satisfies OptionTable;
export type ServeFlags = FlagsOf<typeof serveOptions>;

/** Parses a host name. The Android emulator reaches the loopback interface of its host as 10.0.2.2. */
function allowedHost(text: string): string {
  return text === 'emulator' ? '10.0.2.2' : hostName(text);
}

/** Parses a share, and a seed that selects the requests that fail. */
function failRate(text: string): { readonly failRate: number; readonly failSeed?: number } {
  const [share = '', seed, ...others] = text.split(',');
  const failRate = fraction(share);
  if (seed === undefined) return { failRate };
  if (others.length > 0 || !/^\d{1,9}$/.test(seed))
    throw new InvalidArgumentError('Use a fraction and a whole number, like 0.1,42.');
  return { failRate, failSeed: Number(seed) };
}

function concurrency(text: string): { readonly upload: number; readonly other: number } {
  const [, upload, other] = /^([1-9]\d{0,5}),([1-9]\d{0,5})$/.exec(text) ?? [];
  if (upload === undefined || other === undefined)
    throw new InvalidArgumentError('Use two numbers from 1 on, like 15,3.');
  return { upload: Number(upload), other: Number(other) };
}

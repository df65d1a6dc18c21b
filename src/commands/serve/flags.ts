import { InvalidArgumentError } from 'commander';
import { choice, hostName, integer, notEmpty, share } from '../flags/value-parsers.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const placeOptions = [
  ['--port <n>', '0 takes any free port', { parse: integer({ max: 65_535 }), default: 8787 }],
  ['--data <dir>', 'folder of its data (default: that of --region local)'],
  ['--memory', 'keep nothing', { conflicts: 'data' }],
  [
    '--seed <file...>',
    'records of an empty store: NDJSON or JSON, also .gz',
    { parse: notEmpty, repeatable: true },
  ],
  ['--log', 'a line for each request on stderr, as with -v'],
] as const satisfies OptionTable;

const reachOptions = [
  ['--host <address>', 'interface to listen on (default: 127.0.0.1)', notEmpty],
  [
    '--allow-host <name...>',
    'names by which clients may call it, besides localhost',
    { parse: hostName, repeatable: true },
  ],
  ['--tls', 'speak TLS, with a certificate made for this run'],
  ['--tls-cert <file>', 'PEM of your own certificate', notEmpty],
  ['--tls-key <file>', 'PEM of its key', notEmpty],
] as const satisfies OptionTable;

const rehearsalOptions = [
  ['--latency <ms>', 'added to every answer', { parse: integer({ max: 600_000 }), default: 0 }],
  [
    '--lag <seconds>',
    'reads see a write so much later',
    { parse: integer({ max: 86_400 }), default: 0 },
  ],
  ['--pending <n>', 'polls before a cursor is ready', { parse: integer({}), default: 0 }],
  [
    '--fail-rate <share>',
    'share of requests that fail with 500 or 503, 0 to 1',
    { parse: share, default: 0 },
  ],
  [
    '--max-concurrent <upload,other>',
    'requests in flight; 429 beyond',
    { parse: concurrency, default: { upload: 15, other: 3 }, shown: '15,3' },
  ],
] as const satisfies OptionTable;

/** Each plays one thing that deployments do differently; the first word is the default. */
const variantOptions = [
  variant('--key-style <style>', 'keys of returned profileData', 'verbatim', 'folded'),
  variant('--next-cursor <place>', 'next_cursor and records', 'after', 'before'),
  variant('--status <place>', 'status in an answer', 'first', 'last'),
  variant('--expired-cursor <answer>', 'to a cursor out of date', 'code', 'text', 'stringCode'),
  variant('--echo <way>', 'record in unprocessed', 'recorded', 'intact', 'changed'),
  variant('--record-number <way>', 'how its text ends', 'spaced', 'tight'),
  variant('--older-profile <way>', 'what an older ts does', 'fills', 'overwrites'),
  variant('--whitespace <way>', 'around : and ,', 'tight', 'spaced'),
  variant('--connection <way>', 'after an answer', 'keep', 'close'),
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
  ['--calls <state>', "the account's calling: on, off (default: on)", choice('on', 'off')],
  [
    '--push-hook <url|command>',
    'told of a call for a device that is not connected: POST, or a command with JSON on stdin',
    notEmpty,
  ],
  [
    '--call-speed <n>',
    'waits of calls (30 s to ring) are n times shorter',
    { parse: integer({ min: 1, max: 1000 }), default: 1 },
  ],
  [
    '--call-drops <share>',
    'share of frames instead of which a connection breaks, 0 to 1',
    { parse: share, default: 0 },
  ],
] as const satisfies OptionTable;

export const serveOptions = [
  'Service:',
  ...placeOptions,
  'Reach:',
  ...reachOptions,
  'Rehearsal:',
  ...rehearsalOptions,
  'Calls:',
  ...callOptions,
  'Variants of answers:',
  ...variantOptions,
] as const satisfies OptionTable;
export type ServeFlags = FlagsOf<typeof serveOptions>;

function concurrency(text: string): { readonly upload: number; readonly other: number } {
  const [, upload, other] = /^([1-9]\d{0,5}),([1-9]\d{0,5})$/.exec(text) ?? [];
  if (upload === undefined || other === undefined)
    throw new InvalidArgumentError('Use two numbers from 1 on, like 15,3.');
  return { upload: Number(upload), other: Number(other) };
}

import { once } from 'node:events';
import path from 'node:path';
import { InvalidArgumentError } from 'commander';
import { defaultHeaderPrefix } from '../contract/endpoints.js';
import type { Runtime } from '../runtime.js';
import type { Variants } from '../service/start.js';
import { messages } from '../ui/messages.js';
import type { CommandSpec } from './command-spec.js';
import type { OptionRow, OptionTable } from './option-table.js';
import { choice, integer } from './option-values.js';
import type { Settings } from './settings.js';

interface ServeFlags extends Partial<Variants> {
  readonly port: number;
  readonly data?: string;
  readonly memory?: boolean;
  readonly latency: number;
  readonly pending: number;
  readonly failRate: number;
  readonly maxConcurrent: { readonly upload: number; readonly other: number };
}

const placeOptions: OptionTable = [
  ['--port <n>', '0 takes any free port', { parse: integer({ max: 65_535 }), default: 8787 }],
  ['--data <dir>', 'folder of its data (default: that of --region local)'],
  ['--memory', 'keep nothing', { conflicts: 'data' }],
];

const rehearsalOptions: OptionTable = [
  ['--latency <ms>', 'added to every answer', { parse: integer({ max: 600_000 }), default: 0 }],
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
];

/** Each plays one thing that deployments do differently; the first word is the default. */
const variantOptions = [
  variant('--key-style <style>', 'keys of returned profileData', 'verbatim', 'folded'),
  variant('--next-cursor <place>', 'next_cursor and records', 'after', 'before'),
  variant('--status <place>', 'status in an answer', 'first', 'last'),
  variant('--expired-cursor <answer>', 'to a cursor out of date', 'code', 'text', 'stringCode'),
  variant('--echo <way>', 'record in unprocessed', 'intact', 'changed'),
  variant('--whitespace <way>', 'around : and ,', 'tight', 'spaced'),
  variant('--connection <way>', 'after an answer', 'keep', 'close'),
];

function variant(flags: string, what: string, ...words: [string, ...string[]]): OptionRow {
  const help = `${what}: ${words.join(', ')} (default: ${words[0]})`;
  return [flags, help, choice(...words)];
}

/** Runs the embedded local service on a port until it is told to stop (contract §6). */
export const command: CommandSpec<ServeFlags> = {
  summary: 'run the embedded local service on a port',
  description:
    'Runs the embedded service on a loopback port, until Ctrl-C or SIGTERM. Standard output gets one line: its URL.',
  examples: `
    # on port 8787; its data is that of --region local
    engagectl serve
    # for a test: any free port, nothing kept
    engagectl serve --port 0 --memory
    # a slow and failing service, to rehearse on
    engagectl serve --data ./rehearsal --latency 200 --fail-rate 0.05 --pending 3
  `,
  options: [
    'Service:',
    ...placeOptions,
    'Rehearsal:',
    ...rehearsalOptions,
    'Variants of answers:',
    ...variantOptions,
  ],
  run: ({ flags, settings, runtime }) => serve(flags, settings(), runtime),
};

function share(text: string): number {
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Use a number from 0 to 1.');
}

function concurrency(text: string): ServeFlags['maxConcurrent'] {
  const [, upload, other] = /^([1-9]\d{0,5}),([1-9]\d{0,5})$/.exec(text) ?? [];
  if (upload === undefined || other === undefined)
    throw new InvalidArgumentError('Use two numbers from 1 on, like 15,3.');
  return { upload: Number(upload), other: Number(other) };
}

async function serve(flags: ServeFlags, settings: Settings, runtime: Runtime): Promise<void> {
  const { environmentCredentials, checkedHeaderPrefix } = await import('../config/credentials.js');
  const { localCredentials, localFolder, localPasscodeFile } =
    await import('../config/local-account.js');
  const { shellQuoted } = await import('../config/private-file.js');
  const { startService } = await import('./start-service.js');
  const { port, data, memory, latency, pending, failRate, maxConcurrent, ...variants } = flags;
  const told = messages(settings, runtime);
  const folder = data ? path.resolve(runtime.cwd, data) : localFolder(runtime);
  const fromEnvironment = await environmentCredentials(runtime);
  const credentials = fromEnvironment ?? (await localCredentials(folder, runtime));
  const service = await startService({
    dataDir: memory ? undefined : folder,
    port,
    headerPrefixes: [
      checkedHeaderPrefix(settings.headerPrefix ?? defaultHeaderPrefix, '--header-prefix'),
    ],
    ...credentials,
    timezone: settings.timezone ?? 'UTC',
    latencyMs: latency,
    pendingPolls: pending,
    failRate,
    maxConcurrent,
    variants,
    random: runtime.random,
    now: runtime.now,
    onDefect: (error) => told.warn(`defect of the service: ${String(error)}`),
  });
  try {
    runtime.stdout.write(
      settings.json ? `${JSON.stringify({ url: service.url })}\n` : `${service.url}\n`,
    );
    told.note(`data: ${memory ? 'in memory' : folder}`);
    const passcode = fromEnvironment
      ? 'and the passcode of this environment'
      : `ENGAGECTL_PASSCODE_FILE=${shellQuoted(localPasscodeFile(folder))}`;
    told.note(
      `use it with: ENGAGECTL_BASE_URL=${service.url} ENGAGECTL_ACCOUNT_ID=${credentials.accountId} ${passcode}`,
    );
    await aborted(runtime.signal);
  } finally {
    await service.close();
  }
}

/** Signals are how a service is stopped, so that is success. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

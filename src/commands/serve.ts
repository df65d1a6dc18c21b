import { once } from 'node:events';
import path from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { defaultHeaderPrefix } from '../contract/endpoints.js';
import { addExamples, type Example } from '../help/examples.js';
import type { Runtime } from '../runtime.js';
// oxlint-disable-next-line no-restricted-imports -- types only
import type { Variants } from '../service/options.js';
import { messages } from '../ui/messages.js';
import { choice, integer } from './option-values.js';
import { resolveSettings, type Settings } from './options.js';

interface ServeFlags extends Partial<Variants> {
  readonly port: number;
  readonly data?: string;
  readonly memory?: boolean;
  readonly latency: number;
  readonly pending: number;
  readonly failRate: number;
  readonly maxConcurrent: { readonly upload: number; readonly other: number };
}

const examples: readonly Example[] = [
  ['on port 8787; its data is that of --region local', 'engagectl serve'],
  ['for a test: any free port, nothing kept', 'engagectl serve --port 0 --memory'],
  [
    'a slow and failing service, to rehearse on',
    'engagectl serve --data ./rehearsal --latency 200 --fail-rate 0.05 --pending 3',
  ],
];

/** Runs the embedded local service on a port until it is told to stop (contract §6). */
export function registerServe(program: Command, runtime: Runtime): void {
  const command = program
    .command('serve')
    .summary('run the embedded local service on a port')
    .description(
      'Runs the embedded service on a loopback port, until Ctrl-C or SIGTERM. Standard output gets one line: its URL.',
    );
  addExamples(command, examples);
  for (const option of placeOptions()) command.addOption(option.helpGroup('Service:'));
  for (const option of rehearsalOptions()) command.addOption(option.helpGroup('Rehearsal:'));
  for (const option of variantOptions())
    command.addOption(option.helpGroup('Variants of answers:'));
  command.action((flags: ServeFlags, self: Command) =>
    serve(flags, resolveSettings(self, runtime), runtime),
  );
}

const placeOptions = (): Option[] => [
  new Option('--port <n>', '0 takes any free port')
    .argParser(integer({ max: 65_535 }))
    .default(8787),
  new Option('--data <dir>', 'folder of its data (default: that of --region local)'),
  new Option('--memory', 'keep nothing').conflicts('data'),
];

const rehearsalOptions = (): Option[] => [
  new Option('--latency <ms>', 'added to every answer')
    .argParser(integer({ max: 600_000 }))
    .default(0),
  new Option('--pending <n>', 'polls before a cursor is ready').argParser(integer({})).default(0),
  new Option('--fail-rate <share>', 'share of requests that fail with 500 or 503, 0 to 1')
    .argParser(share)
    .default(0),
  new Option('--max-concurrent <upload,other>', 'requests in flight; 429 beyond')
    .argParser(concurrency)
    .default({ upload: 15, other: 3 }, '15,3'),
];

/** Each plays one thing that deployments do differently; the first word is the default. */
const variantOptions = (): Option[] => [
  variant('--key-style <style>', 'keys of returned profileData', 'verbatim', 'folded'),
  variant('--next-cursor <place>', 'next_cursor and records', 'after', 'before'),
  variant('--status <place>', 'status in an answer', 'first', 'last'),
  variant('--expired-cursor <answer>', 'to a cursor out of date', 'code', 'text', 'stringCode'),
  variant('--echo <way>', 'record in unprocessed', 'intact', 'changed'),
  variant('--whitespace <way>', 'around : and ,', 'tight', 'spaced'),
  variant('--connection <way>', 'after an answer', 'keep', 'close'),
];

const variant = (flags: string, what: string, ...words: [string, ...string[]]): Option =>
  new Option(flags, `${what}: ${words.join(', ')} (default: ${words[0]})`).argParser(
    choice(...words),
  );

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
  const told = messages(settings, runtime);
  const folder = flags.data ? path.resolve(runtime.cwd, flags.data) : localFolder(runtime);
  const fromEnvironment = await environmentCredentials(runtime);
  const credentials = fromEnvironment ?? (await localCredentials(folder));
  const service = await startService({
    dataDir: flags.memory ? undefined : folder,
    port: flags.port,
    headerPrefix: checkedHeaderPrefix(
      settings.headerPrefix ?? defaultHeaderPrefix,
      '--header-prefix',
    ),
    ...credentials,
    timezone: settings.timezone ?? 'UTC',
    latencyMs: flags.latency,
    pendingPolls: flags.pending,
    failRate: flags.failRate,
    maxConcurrent: flags.maxConcurrent,
    variants: variantsOf(flags),
    random: runtime.random,
    now: runtime.now,
    onDefect: (error) => told.warn(`defect of the service: ${String(error)}`),
  });
  try {
    runtime.stdout.write(
      settings.json ? `${JSON.stringify({ url: service.url })}\n` : `${service.url}\n`,
    );
    told.note(`data: ${flags.memory ? 'in memory' : folder}`);
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

/** The variants that were chosen; the service knows its defaults. */
function variantsOf(flags: ServeFlags): Partial<Variants> {
  const { keyStyle, nextCursor, status, expiredCursor, echo, whitespace, connection } = flags;
  const all = { keyStyle, nextCursor, status, expiredCursor, echo, whitespace, connection };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Signals are how a service is stopped, so that is success. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

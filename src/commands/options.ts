import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Runtime } from '../runtime.js';

/** The global options as the commands use them: flag, else environment, else default. */
export interface Settings {
  readonly profile?: string;
  readonly region?: string;
  readonly baseUrl?: string;
  readonly headerPrefix?: string;
  readonly timezone?: string;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly retryForMs: number;
  readonly retryBaseMs: number;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly progress: 'auto' | 'always' | 'never';
  readonly color: boolean;
  /** The command line as it was typed, without the program's name. */
  readonly argv: readonly string[];
  /** Which of the settings were given as flags: a flag outranks whole groups of variables. */
  readonly flags: ReadonlySet<string>;
}

type Parse = (text: string) => unknown;
interface GlobalOption {
  readonly flags: string;
  readonly help: string;
  readonly env?: string;
  readonly fallback?: string;
  readonly parse?: Parse;
}

const globalOptions: readonly GlobalOption[] = [
  {
    flags: '-p, --profile <name>',
    env: 'ENGAGECTL_PROFILE',
    help: 'config profile',
    parse: profileName,
  },
  {
    flags: '-r, --region <name>',
    env: 'ENGAGECTL_REGION',
    help: 'region within the config profile; "local" is built in',
  },
  { flags: '--base-url <url>', env: 'ENGAGECTL_BASE_URL', help: "overrides the region's address" },
  {
    flags: '--header-prefix <prefix>',
    env: 'ENGAGECTL_HEADER_PREFIX',
    help: 'prefix of the authentication headers (default: X-Service)',
  },
  {
    flags: '--timezone <iana>',
    env: 'ENGAGECTL_TIMEZONE',
    help: "the account's time zone (default: UTC)",
    parse: timezone,
  },
  {
    flags: '--timeout <duration>',
    env: 'ENGAGECTL_TIMEOUT',
    help: 'whole request for writes, silence for reads',
    fallback: '60s',
    parse: duration,
  },
  {
    flags: '--max-attempts <n>',
    env: 'ENGAGECTL_MAX_ATTEMPTS',
    help: 'attempts per request, not counting 429s',
    fallback: '8',
    parse: integer({ min: 1 }),
  },
  {
    flags: '--retry-for <duration>',
    env: 'ENGAGECTL_RETRY_FOR',
    help: 'longest time one request may spend in retries',
    fallback: '10m',
    parse: duration,
  },
  {
    flags: '--retry-base <duration>',
    env: 'ENGAGECTL_RETRY_BASE',
    help: 'first back-off',
    fallback: '500ms',
    parse: duration,
  },
  { flags: '--json', help: 'one summary object on stdout, errors as JSON on stderr' },
  {
    flags: '--progress <when>',
    help: 'auto, always or never',
    fallback: 'auto',
    parse: choice('auto', 'always', 'never'),
  },
  { flags: '-q, --quiet', help: 'print errors only' },
  { flags: '-v, --verbose', help: 'explain each request and retry in a line' },
  { flags: '--no-color', help: 'no colours' },
];

export function addGlobalOptions(program: Command): void {
  for (const { flags, help, env, fallback, parse } of globalOptions) {
    const described = env === undefined ? help : `${help} [$${env}]`;
    const option = new Option(
      flags,
      fallback === undefined ? described : `${described} (default: ${fallback})`,
    );
    if (parse) option.argParser(parse);
    program.addOption(option.helpGroup('Global options:'));
  }
}

/** Merges flags, environment and defaults. A variable's value is checked like the flag's. */
export function resolveSettings(command: Command, { env }: Runtime): Settings {
  const given: Record<string, unknown> = command.optsWithGlobals();
  const settings: Record<string, unknown> = {};
  const flags = new Set<string>();
  for (const { flags: spelling, env: variable, fallback, parse } of globalOptions) {
    const name = new Option(spelling).attributeName();
    const text = variable === undefined ? undefined : env[variable];
    if (given[name] !== undefined) {
      settings[name] = given[name];
      flags.add(name);
    } else if (text !== undefined) {
      settings[name] = parse
        ? named(`environment variable ${String(variable)}`, text, parse)
        : text;
    } else if (fallback !== undefined) {
      settings[name] = parse ? parse(fallback) : fallback;
    }
  }
  return {
    ...optional<'profile' | 'region' | 'baseUrl' | 'headerPrefix' | 'timezone'>(
      ['profile', 'region', 'baseUrl', 'headerPrefix', 'timezone'],
      settings,
    ),
    timeoutMs: settings['timeout'] as number,
    maxAttempts: settings['maxAttempts'] as number,
    retryForMs: settings['retryFor'] as number,
    retryBaseMs: settings['retryBase'] as number,
    json: settings['json'] === true,
    quiet: settings['quiet'] === true,
    verbose: settings['verbose'] === true,
    progress: settings['progress'] as Settings['progress'],
    color: settings['color'] !== false && env['NO_COLOR'] === undefined && env['TERM'] !== 'dumb',
    argv: wordsOf(command),
    flags,
  };
}

/** commander keeps the words of the command line, though its types do not say so. */
function wordsOf(command: Command): readonly string[] {
  const { parent } = command;
  return parent ? wordsOf(parent) : (command as Command & { rawArgs: string[] }).rawArgs;
}

function optional<K extends string>(
  names: readonly K[],
  settings: Record<string, unknown>,
): { [P in K]?: string } {
  const set = names.filter((name) => settings[name] !== undefined);
  return Object.fromEntries(set.map((name) => [name, settings[name]])) as { [P in K]?: string };
}

function named(what: string, text: string, parse: Parse): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new InvalidArgumentError(`${what}: "${text}" is invalid. ${error.message}`);
  }
}

/** `60s`, `500ms`, `10m`, `4h`, in milliseconds. */
export function duration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match?.[2] ?? ''];
  if (unit === undefined)
    throw new InvalidArgumentError('Use a duration like 500ms, 60s, 10m or 4h.');
  const milliseconds = Math.round(Number(match?.[1]) * unit);
  if (milliseconds > 2_147_483_647) throw new InvalidArgumentError('At most 24 days (576h).');
  return milliseconds;
}

/** `4MiB`, `512KiB`, `1000`, in bytes. */
export function byteCount(text: string): number {
  const match = /^(\d+)(B|KiB|MiB|GiB)?$/i.exec(text);
  const unit = { b: 1, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 }[
    (match?.[2] ?? 'b').toLowerCase()
  ];
  if (!match || unit === undefined)
    throw new InvalidArgumentError('Use bytes like 1000, 512KiB or 4MiB.');
  return Number(match[1]) * unit;
}

/** A whole number within bounds, both inclusive. */
export function integer({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
}: {
  min?: number;
  max?: number;
}) {
  return (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`Use a whole number ${range}.`);
  };
}

/** One of the words; commander's own `choices()` would not check environment variables. */
export function choice<const T extends string>(...words: readonly T[]) {
  return (text: string): T => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new InvalidArgumentError(`Use one of: ${words.join(', ')}.`);
    return found;
  };
}

export function profileName(text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('Use 1 to 64 of A-Z a-z 0-9 _ and -.');
}

/** An IANA name that this Node knows. */
export function timezone(text: string): string {
  try {
    Intl.DateTimeFormat('en-US', { timeZone: text });
    return text;
  } catch {
    throw new InvalidArgumentError('Use an IANA name like Europe/Berlin or UTC.');
  }
}

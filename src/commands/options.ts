import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Runtime } from '../runtime.js';
import { choice, duration, integer, profileName, timeLimit, timezone } from './option-values.js';

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
  /** `--log-format json`: every line on stderr is one object with a `type`. */
  readonly logJson: boolean;
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
  /** Heading under which help lists it. */
  readonly group: 'Account:' | 'Requests:' | 'Messages:';
}

const globalOptions: readonly GlobalOption[] = [
  {
    flags: '-p, --profile <name>',
    group: 'Account:',
    env: 'ENGAGECTL_PROFILE',
    help: 'config profile',
    parse: profileName,
  },
  {
    flags: '-r, --region <name>',
    group: 'Account:',
    env: 'ENGAGECTL_REGION',
    help: 'region within the config profile; "local" is built in',
  },
  {
    flags: '--base-url <url>',
    group: 'Account:',
    env: 'ENGAGECTL_BASE_URL',
    help: "overrides the region's address",
  },
  {
    flags: '--header-prefix <prefix>',
    group: 'Account:',
    env: 'ENGAGECTL_HEADER_PREFIX',
    help: 'prefix of the authentication headers (default: X-Service)',
  },
  {
    flags: '--timezone <iana>',
    group: 'Account:',
    env: 'ENGAGECTL_TIMEZONE',
    help: "the account's time zone (default: UTC)",
    parse: timezone,
  },
  {
    flags: '--timeout <duration>',
    group: 'Requests:',
    env: 'ENGAGECTL_TIMEOUT',
    help: 'whole request for writes, silence for reads',
    fallback: '60s',
    parse: timeLimit,
  },
  {
    flags: '--max-attempts <n>',
    group: 'Requests:',
    env: 'ENGAGECTL_MAX_ATTEMPTS',
    help: 'attempts per request, not counting 429s',
    fallback: '8',
    parse: integer({ min: 1 }),
  },
  {
    flags: '--retry-for <duration>',
    group: 'Requests:',
    env: 'ENGAGECTL_RETRY_FOR',
    help: 'longest time one request may spend in retries',
    fallback: '10m',
    parse: duration,
  },
  {
    flags: '--retry-base <duration>',
    group: 'Requests:',
    env: 'ENGAGECTL_RETRY_BASE',
    help: 'first back-off',
    fallback: '500ms',
    parse: duration,
  },
  {
    flags: '--json',
    group: 'Messages:',
    help: 'one summary object on stdout, errors as JSON on stderr',
  },
  {
    flags: '--log-format <format>',
    group: 'Messages:',
    help: 'text, or json: each line on stderr one object with a type',
    fallback: 'text',
    parse: choice('text', 'json'),
  },
  {
    flags: '--progress <when>',
    group: 'Messages:',
    help: 'auto, always or never',
    fallback: 'auto',
    parse: choice('auto', 'always', 'never'),
  },
  { flags: '-q, --quiet', group: 'Messages:', help: 'print errors only' },
  { flags: '-v, --verbose', group: 'Messages:', help: 'explain each request and retry in a line' },
  { flags: '--no-color', group: 'Messages:', help: 'no colours' },
];

export function addGlobalOptions(program: Command): void {
  for (const { flags, help, env, fallback, parse, group } of globalOptions) {
    const described = env === undefined ? help : `${help} [$${env}]`;
    const option = new Option(
      flags,
      fallback === undefined ? described : `${described} (default: ${fallback})`,
    );
    if (parse) option.argParser(parse);
    program.addOption(option.helpGroup(group));
  }
}

/** The flags that a variable can stand in for, as the help of the environment lists them. */
export const environmentFlags = () =>
  globalOptions.flatMap(({ flags, env, help, fallback }) =>
    env === undefined
      ? []
      : { flags, variable: env, help: fallback ? `${help}; default ${fallback}` : help },
  );

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
    logJson: settings['logFormat'] === 'json',
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

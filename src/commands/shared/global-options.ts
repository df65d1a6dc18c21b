import { InvalidArgumentError, Option, type Command } from 'commander';
import { environmentProblems } from '../../config/credentials.js';
import { joinProblems } from '../../help/usage-error.js';
import { repeatedFlagError, type OptionTable } from '../flags/option-table.js';
import { usesColor, forcesColor } from '../../ui/display-settings.js';
import {
  choice,
  duration,
  integer,
  nonEmpty,
  profileName,
  positiveDuration,
  positiveAge,
  timezone,
} from '../flags/value-parsers.js';
import type { Runtime } from '../../runtime.js';

/** The global options with their precedence applied: flag, environment, default. */
export interface GlobalOptions {
  readonly profile?: string;
  readonly region?: string;
  readonly baseUrl?: string;
  readonly headerPrefix?: string;
  /** All prefixes given; only `serve` accepts more than one. */
  readonly headerPrefixes: readonly string[];
  readonly timezone?: string;
  /** Time for which sent events are remembered, like `90d`. */
  readonly remember?: string;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly retryForMs: number;
  readonly retryBaseMs: number;
  readonly json: boolean;
  /** `--log-format json`: each line on stderr is one JSON object with a `type`. */
  readonly logJson: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** `-vv`. */
  readonly debug: boolean;
  /** `--show-pii`: identities and addresses are not masked. */
  readonly showPii: boolean;
  readonly progress: 'auto' | 'always' | 'never';
  readonly color: boolean;
  /** Colors even if the stream is not a terminal. */
  readonly forceColor: boolean;
  /** The command line as typed, without the program name. */
  readonly argv: readonly string[];
  /** Settings given as flags: a flag takes precedence over whole groups of variables. */
  readonly flags: ReadonlySet<string>;
}

/** The options by attribute name, as their parsers return them. */
interface Values extends Pick<
  GlobalOptions,
  'profile' | 'region' | 'baseUrl' | 'timezone' | 'remember' | 'progress'
> {
  /** A list if given as a flag, a text if given as a variable. */
  readonly headerPrefix?: string | readonly string[];
  readonly timeout: number;
  readonly maxAttempts: number;
  readonly retryFor: number;
  readonly retryBase: number;
  readonly logFormat: 'text' | 'json';
  readonly json?: true;
  readonly quiet?: true;
  readonly showPii?: true;
  /** One entry per occurrence. */
  readonly verbose?: readonly unknown[];
  readonly color?: boolean;
}

/** Reads flags, environment and defaults. Variables are validated like flags; returns their problems, too. */
function readValues(given: Readonly<Record<string, unknown>>, { env }: Pick<Runtime, 'env'>) {
  const values: Record<string, unknown> = {};
  const flags = new Set<string>();
  const wrong: string[] = [];
  for (const { name, env: variable = '', fallback, parse = String } of globalOptions) {
    if (given[name] !== undefined) {
      values[name] = given[name];
      flags.add(name);
    } else if (env[variable] !== undefined) {
      try {
        values[name] = parse(env[variable]);
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) throw error;
        wrong.push(
          `environment variable ${variable}: "${env[variable]}" is invalid. ${error.message}`,
        );
      }
    } else if (fallback !== undefined) {
      values[name] = parse(fallback);
    }
  }
  return { values, flags, wrong };
}

/** Returns the problems of environment variables, to report them together with those of the command line. */
export const invalidVariables = (command: Command, runtime: Pick<Runtime, 'env'>) =>
  readValues(command.optsWithGlobals(), runtime).wrong;

/** Merges flags, environment and defaults. */
export function resolveGlobalOptions(command: Command, { env }: Runtime): GlobalOptions {
  const { values, flags, wrong } = readValues(command.optsWithGlobals(), { env });
  if (wrong.length > 0) {
    const all = [...wrong, ...environmentProblems({ env }, flags)];
    throw new InvalidArgumentError(joinProblems(all));
  }
  const { timeout, retryFor, retryBase, logFormat, json, quiet, verbose, showPii, color, ...more } =
    values as unknown as Values;
  const { headerPrefix = [], ...others } = more;
  const headerPrefixes = [headerPrefix].flat();
  if (headerPrefixes.length > 1 && command.name() !== 'serve')
    throw repeatedFlagError('--header-prefix <prefix>');
  return {
    ...others,
    ...(headerPrefixes[0] === undefined ? {} : { headerPrefix: headerPrefixes[0] }),
    headerPrefixes,
    timeoutMs: timeout,
    retryForMs: retryFor,
    retryBaseMs: retryBase,
    json: json === true,
    logJson: logFormat === 'json',
    quiet: quiet === true,
    verbose: verbose !== undefined,
    debug: (verbose?.length ?? 0) > 1,
    showPii: showPii === true,
    color: usesColor(env, color),
    forceColor: forcesColor(env),
    argv: wordsOf(command),
    flags,
  };
}

/** Returns the words of the command line, which commander keeps although its types omit them. */
function wordsOf(command: Command): readonly string[] {
  const { parent } = command;
  return parent ? wordsOf(parent) : (command as Command & { rawArgs: string[] }).rawArgs;
}

/** A flag that every command accepts. */
type GlobalRow = readonly [flags: string, help: string, details?: GlobalDetails];

interface GlobalDetails {
  readonly parse?: (text: string) => unknown;
  /** The default, as typed. */
  readonly fallback?: string;
  /** The service may accept several prefixes: `serve` takes all of them, other commands one. */
  readonly repeatable?: true;
  readonly common?: true;
  readonly writes?: true;
}

const groups: Readonly<Record<string, readonly GlobalRow[]>> = {
  'Account:': [
    ['-p, --profile <name>', 'config profile', { parse: profileName, common: true }],
    ['-r, --region <name>', 'region of the profile; "local" is built in', { common: true }],
    ['--base-url <url>', 'overrides the saved URL of the region'],
    [
      '--header-prefix <prefix>',
      'prefix of the authentication headers (default: X-Service)',
      { repeatable: true },
    ],
    ['--timezone <iana>', 'time zone of the account (default: UTC)', { parse: timezone }],
    [
      '--remember <duration>',
      'how long sent events are remembered (default: 90d)',
      { parse: positiveAge },
    ],
  ],
  'Requests:': [
    [
      '--timeout <duration>',
      'limit per write request; for reads, of inactivity',
      { parse: positiveDuration, fallback: '60s' },
    ],
    [
      '--max-attempts <n>',
      'attempts per request, not counting 429s',
      { parse: integer({ min: 1 }), fallback: '8' },
    ],
    [
      '--retry-for <duration>',
      'maximum time spent retrying one request',
      { parse: duration, fallback: '10m' },
    ],
    ['--retry-base <duration>', 'first back-off', { parse: duration, fallback: '500ms' }],
  ],
  'Messages:': [
    ['--json', 'print a JSON summary on stdout, errors as JSON', { common: true }],
    [
      '--log-format <format>',
      'text, or json: one JSON object per line on stderr',
      { parse: choice('text', 'json'), fallback: 'text' },
    ],
    [
      '--progress <when>',
      'auto, always or never',
      { parse: choice('auto', 'always', 'never'), fallback: 'auto' },
    ],
    ['-q, --quiet', 'print errors only'],
    [
      '-v, --verbose',
      'log each request and retry; -vv also logs changed headers',
      { repeatable: true },
    ],
    [
      '--log-file <file>',
      'append all messages to this file, even with --quiet',
      { parse: nonEmpty, writes: true },
    ],
    ['--show-pii', 'do not mask identities, emails and phones in messages, logs and reports'],
    ['--no-color', 'disable colors'],
    ['--no-input', 'never prompt [$ENGAGECTL_NO_INPUT]'],
  ],
};

/** Returns the environment variable of a flag, like ENGAGECTL_BASE_URL. Flags about messages have none. */
const variableOf = (heading: string, flags: string): string | undefined =>
  heading === 'Messages:'
    ? undefined
    : `ENGAGECTL_${/--([a-z-]+)/.exec(flags)?.[1]?.toUpperCase().replaceAll('-', '_')}`;

const globalOptions = Object.entries(groups).flatMap(([heading, rows]) =>
  rows.map(([flags, help, details = {}]: GlobalRow) => ({
    heading,
    /** Attribute name. */
    name: new Option(flags).attributeName(),
    flags,
    help,
    ...details,
    /** Environment variable of the flag, validated like the flag. */
    env: variableOf(heading, flags),
  })),
);

/** The table for commander, without defaults: variables take precedence over those. */
export const globalOptionTable: OptionTable = globalOptions.flatMap(
  ({ heading, flags, help, env, fallback, parse, repeatable, common, writes }) => {
    const variable = env === undefined ? '' : ` [$${env}]`;
    const defaultText = fallback === undefined ? '' : ` (default: ${fallback})`;
    const details = {
      parse,
      ...(repeatable && { repeatable }),
      ...(common && { common }),
      ...(writes && { writes }),
    };
    return [heading, [flags, `${help}${defaultText}${variable}`, details] as const];
  },
);

/** Flags that have an environment variable, for `help environment`. */
export const environmentFlags = () =>
  globalOptions.flatMap(({ flags, help, env, fallback }) => {
    const withDefault = fallback === undefined ? help : `${help}; default ${fallback}`;
    return env === undefined ? [] : { flags, variable: env, help: withDefault };
  });

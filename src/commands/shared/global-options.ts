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
  timezone,
} from '../flags/value-parsers.js';
import type { Runtime } from '../../runtime.js';

/** The global options as the commands use them: flag, else environment, else default. */
export interface GlobalOptions {
  readonly profile?: string;
  readonly region?: string;
  readonly baseUrl?: string;
  readonly headerPrefix?: string;
  /** All that were given; more than one for `serve` alone. */
  readonly headerPrefixes: readonly string[];
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
  /** `-vv`. */
  readonly debug: boolean;
  /** Identities and addresses are shown whole. */
  readonly showPii: boolean;
  readonly progress: 'auto' | 'always' | 'never';
  readonly color: boolean;
  /** Colours also where there is no terminal. */
  readonly forceColor: boolean;
  /** The command line as it was typed, without the program's name. */
  readonly argv: readonly string[];
  /** Which of the settings were given as flags: a flag outranks whole groups of variables. */
  readonly flags: ReadonlySet<string>;
}

/** The options by the names of their values, each as its parser returns it. */
interface Values extends Pick<
  GlobalOptions,
  'profile' | 'region' | 'baseUrl' | 'timezone' | 'progress'
> {
  /** A list as a flag, a text as a variable. */
  readonly headerPrefix?: string | readonly string[];
  readonly timeout: number;
  readonly maxAttempts: number;
  readonly retryFor: number;
  readonly retryBase: number;
  readonly logFormat: 'text' | 'json';
  readonly json?: true;
  readonly quiet?: true;
  readonly showPii?: true;
  /** One for each time it was given. */
  readonly verbose?: readonly unknown[];
  readonly color?: boolean;
}

/** Flags, else environment, else defaults; and what is wrong with a variable, checked like the flag. */
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

/** What is wrong with variables, to be told beside what is wrong with the command line. */
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

/** commander keeps the words of the command line, though its types do not say so. */
function wordsOf(command: Command): readonly string[] {
  const { parent } = command;
  return parent ? wordsOf(parent) : (command as Command & { rawArgs: string[] }).rawArgs;
}

/** A flag that stands with every command, and its default as if it were typed. */
type GlobalRow = readonly [
  flags: string,
  help: string,
  parse?: (text: string) => unknown,
  fallback?: string,
];

const groups: Readonly<Record<string, readonly GlobalRow[]>> = {
  'Account:': [
    ['-p, --profile <name>', 'config profile', profileName],
    ['-r, --region <name>', 'region within the config profile; "local" is built in'],
    ['--base-url <url>', 'overrides the saved URL of the region'],
    ['--header-prefix <prefix>', 'prefix of the authentication headers (default: X-Service)'],
    ['--timezone <iana>', 'time zone of the account (default: UTC)', timezone],
  ],
  'Requests:': [
    [
      '--timeout <duration>',
      'limit per write request; for reads, of inactivity',
      positiveDuration,
      '60s',
    ],
    ['--max-attempts <n>', 'attempts per request, not counting 429s', integer({ min: 1 }), '8'],
    ['--retry-for <duration>', 'maximum time spent retrying one request', duration, '10m'],
    ['--retry-base <duration>', 'first back-off', duration, '500ms'],
  ],
  'Messages:': [
    ['--json', 'one summary object on stdout, errors as JSON on stderr'],
    [
      '--log-format <format>',
      'text, or json: one JSON object per line on stderr',
      choice('text', 'json'),
      'text',
    ],
    ['--progress <when>', 'auto, always or never', choice('auto', 'always', 'never'), 'auto'],
    ['-q, --quiet', 'print errors only'],
    ['-v, --verbose', 'log each request and retry; -vv also logs changed headers'],
    ['--log-file <file>', 'append all messages to this file, even with --quiet', nonEmpty],
    ['--show-pii', 'do not mask identities, emails and phones in messages, logs and reports'],
    ['--no-color', 'disable colors'],
    ['--no-input', 'never prompt [$ENGAGECTL_NO_INPUT]'],
  ],
};

/** Like ENGAGECTL_BASE_URL. Messages have none: they are a matter of the command line. */
const variableOf = (heading: string, flags: string): string | undefined =>
  heading === 'Messages:'
    ? undefined
    : `ENGAGECTL_${/--([a-z-]+)/.exec(flags)?.[1]?.toUpperCase().replaceAll('-', '_')}`;

const globalOptions = Object.entries(groups).flatMap(([heading, rows]) =>
  rows.map(([flags, help, parse, fallback]) => ({
    heading,
    /** The name of its value. */
    name: new Option(flags).attributeName(),
    flags,
    help,
    parse,
    fallback,
    /** The variable that stands in for it; its value is checked like the flag's. */
    env: variableOf(heading, flags),
  })),
);

/** The service may answer to several prefixes: `serve` takes them all, other commands one. */
const repeatable = new Set(['headerPrefix', 'verbose']);

/** As commander gets them: without a default, which comes behind the variables. */
export const globalOptionTable: OptionTable = globalOptions.flatMap(
  ({ heading, name, flags, help, env, fallback, parse }) => {
    const variable = env === undefined ? '' : ` [$${env}]`;
    const shown = fallback === undefined ? '' : ` (default: ${fallback})`;
    const details = repeatable.has(name) ? { parse, repeatable: true as const } : { parse };
    return [heading, [flags, `${help}${shown}${variable}`, details] as const];
  },
);

/** The flags that a variable can stand in for, as the help of the environment lists them. */
export const environmentFlags = () =>
  globalOptions.flatMap(({ flags, help, env, fallback }) => {
    const withDefault = fallback === undefined ? help : `${help}; default ${fallback}`;
    return env === undefined ? [] : { flags, variable: env, help: withDefault };
  });

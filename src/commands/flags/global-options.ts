import { Option } from 'commander';
import {
  choice,
  duration,
  integer,
  notEmpty,
  profileName,
  timeLimit,
  timezone,
} from './value-parsers.js';
import type { OptionTable } from './option-table.js';

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
    ['--base-url <url>', "overrides the region's address"],
    ['--header-prefix <prefix>', 'prefix of the authentication headers (default: X-Service)'],
    ['--timezone <iana>', "the account's time zone (default: UTC)", timezone],
  ],
  'Requests:': [
    ['--timeout <duration>', 'whole request for writes, silence for reads', timeLimit, '60s'],
    ['--max-attempts <n>', 'attempts per request, not counting 429s', integer({ min: 1 }), '8'],
    ['--retry-for <duration>', 'longest time one request may spend in retries', duration, '10m'],
    ['--retry-base <duration>', 'first back-off', duration, '500ms'],
  ],
  'Messages:': [
    ['--json', 'one summary object on stdout, errors as JSON on stderr'],
    [
      '--log-format <format>',
      'text, or json: each line on stderr one object with a type',
      choice('text', 'json'),
      'text',
    ],
    ['--progress <when>', 'auto, always or never', choice('auto', 'always', 'never'), 'auto'],
    ['-q, --quiet', 'print errors only'],
    ['-v, --verbose', 'explain each request and retry in a line; -vv: headers that are new, too'],
    ['--log-file <file>', 'append all that is told to this file, with --quiet too', notEmpty],
    ['--show-pii', 'identities, emails and phones whole in messages, logs and reports'],
    ['--no-color', 'no colours'],
    ['--no-input', 'ask nothing, though it is a terminal [$ENGAGECTL_NO_INPUT]'],
  ],
};

/** Like ENGAGECTL_BASE_URL. Messages have none: they are a matter of the command line. */
const variableOf = (heading: string, flags: string): string | undefined =>
  heading === 'Messages:'
    ? undefined
    : `ENGAGECTL_${/--([a-z-]+)/.exec(flags)?.[1]?.toUpperCase().replaceAll('-', '_')}`;

export const globalOptions = Object.entries(groups).flatMap(([heading, rows]) =>
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

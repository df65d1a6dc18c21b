import type { OptionDetails, OptionGroup } from './option-table.js';
import { choice, duration, integer, profileName, timeLimit, timezone } from './option-values.js';

/** A flag that stands with every command. */
interface GlobalDetails extends Pick<OptionDetails, 'parse'> {
  /** The variable that stands in for it; its value is checked like the flag's. */
  readonly env?: string;
  /** The default, as if it were typed. */
  readonly fallback?: string;
}
type GlobalRow = readonly [flags: string, help: string, details?: GlobalDetails];

const groups: readonly (readonly [heading: string, rows: readonly GlobalRow[]])[] = [
  [
    'Account:',
    [
      ['-p, --profile <name>', 'config profile', { env: 'ENGAGECTL_PROFILE', parse: profileName }],
      [
        '-r, --region <name>',
        'region within the config profile; "local" is built in',
        { env: 'ENGAGECTL_REGION' },
      ],
      ['--base-url <url>', "overrides the region's address", { env: 'ENGAGECTL_BASE_URL' }],
      [
        '--header-prefix <prefix>',
        'prefix of the authentication headers (default: X-Service)',
        { env: 'ENGAGECTL_HEADER_PREFIX' },
      ],
      [
        '--timezone <iana>',
        "the account's time zone (default: UTC)",
        { env: 'ENGAGECTL_TIMEZONE', parse: timezone },
      ],
    ],
  ],
  [
    'Requests:',
    [
      [
        '--timeout <duration>',
        'whole request for writes, silence for reads',
        { env: 'ENGAGECTL_TIMEOUT', fallback: '60s', parse: timeLimit },
      ],
      [
        '--max-attempts <n>',
        'attempts per request, not counting 429s',
        { env: 'ENGAGECTL_MAX_ATTEMPTS', fallback: '8', parse: integer({ min: 1 }) },
      ],
      [
        '--retry-for <duration>',
        'longest time one request may spend in retries',
        { env: 'ENGAGECTL_RETRY_FOR', fallback: '10m', parse: duration },
      ],
      [
        '--retry-base <duration>',
        'first back-off',
        { env: 'ENGAGECTL_RETRY_BASE', fallback: '500ms', parse: duration },
      ],
    ],
  ],
  [
    'Messages:',
    [
      ['--json', 'one summary object on stdout, errors as JSON on stderr'],
      [
        '--log-format <format>',
        'text, or json: each line on stderr one object with a type',
        { fallback: 'text', parse: choice('text', 'json') },
      ],
      [
        '--progress <when>',
        'auto, always or never',
        { fallback: 'auto', parse: choice('auto', 'always', 'never') },
      ],
      ['-q, --quiet', 'print errors only'],
      ['-v, --verbose', 'explain each request and retry in a line'],
      ['--no-color', 'no colours'],
    ],
  ],
];

/** The rows of all groups. */
export const globalOptions = groups.flatMap(([, rows]) => rows);

/** As commander gets them: defaults come last, behind the environment, and so are none of its. */
export const globalOptionGroups: readonly OptionGroup[] = groups.map(([heading, rows]) => [
  heading,
  rows.map(([flags, help, { env, fallback, parse } = {}]) => {
    const variable = env === undefined ? '' : ` [$${env}]`;
    const shown = fallback === undefined ? '' : ` (default: ${fallback})`;
    return [flags, `${help}${variable}${shown}`, parse ? { parse } : {}];
  }),
]);

/** The flags that a variable can stand in for, as the help of the environment lists them. */
export const environmentFlags = () =>
  globalOptions.flatMap(([flags, help, { env, fallback } = {}]) =>
    env === undefined
      ? []
      : { flags, variable: env, help: fallback ? `${help}; default ${fallback}` : help },
  );

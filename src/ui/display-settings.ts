import type { PiiSettings } from './mask.js';
import type { Runtime } from '../runtime.js';

/** Global options that control what is displayed and how. Missing options are off. */
export interface DisplaySettings extends PiiSettings {
  readonly json?: boolean;
  /** `--log-format json`. */
  readonly logJson?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** `-vv`. */
  readonly debug?: boolean;
  readonly color?: boolean;
  /** Colors even if the stream is not a terminal. */
  readonly forceColor?: boolean;
  readonly progress?: 'auto' | 'always' | 'never';
}

/** Reads the settings from the raw words of the command line, which commander may have failed to parse. */
export const rawDisplaySettings = (
  argv: readonly string[],
  { env }: Pick<Runtime, 'env'>,
): DisplaySettings => ({
  json: argv.includes('--json'),
  logJson: rawFlagValue(argv, '--log-format') === 'json',
  verbose: rawVerbosity(argv) > 0,
  color: usesColor(env, !argv.includes('--no-color')),
  forceColor: forcesColor(env),
  showPii: argv.includes('--show-pii'),
  argv,
});

type Env = Runtime['env'];

/** Whether FORCE_COLOR or CLICOLOR_FORCE requests colors without a terminal. */
export const forcesColor = (env: Env): boolean =>
  isSwitchOn(env['FORCE_COLOR']) || isSwitchOn(env['CLICOLOR_FORCE']);

/**
 * Whether colors are used: `--no-color`, NO_COLOR and FORCE_COLOR=0 take precedence over forced colors;
 * TERM=dumb does not.
 */
export const usesColor = (env: Env, flag: boolean | undefined): boolean =>
  flag !== false &&
  env['NO_COLOR'] === undefined &&
  (env['FORCE_COLOR'] === undefined || isSwitchOn(env['FORCE_COLOR'])) &&
  (env['TERM'] !== 'dumb' || forcesColor(env));

/** Whether a switch variable is set to something other than `0` or `false`. */
export const isSwitchOn = (variable: string | undefined): boolean =>
  variable !== undefined && !/^(0|false)$/i.test(variable);

/**
 * Returns the value of a flag from the raw words of the command line, which commander may not have read
 * or may have rejected. Undefined if the flag is missing.
 */
export function rawFlagValue(argv: readonly string[], flag: string): string | undefined {
  const ends = argv.indexOf('--');
  const words = ends < 0 ? argv : argv.slice(0, ends);
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return words[at] === flag ? words[at + 1] : words[at]?.slice(flag.length + 1);
}

/** Counts the occurrences of `-v` in any spelling: `-v`, `-vv`, `-qv`, `--verbose`. */
const rawVerbosity = (argv: readonly string[]): number =>
  argv.reduce((sum, word) => {
    if (word === '--verbose') return sum + 1;
    return sum + (/^-[a-zA-Z]*v[a-zA-Z]*$/.test(word) ? word.split('v').length - 1 : 0);
  }, 0);

import type { PiiSettings } from './mask.js';
import type { Runtime } from '../runtime.js';

/** What the global options say about what is shown, and how. What is left out is off. */
export interface DisplaySettings extends PiiSettings {
  readonly json?: boolean;
  /** `--log-format json`. */
  readonly logJson?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** `-vv`. */
  readonly debug?: boolean;
  readonly color?: boolean;
  /** Colours also where there is no terminal. */
  readonly forceColor?: boolean;
  readonly progress?: 'auto' | 'always' | 'never';
}

/** Read from the words of the command line: the error may be that they cannot be parsed. */
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

/** FORCE_COLOR and CLICOLOR_FORCE ask for colours where there is no terminal. */
export const forcesColor = (env: Env): boolean =>
  isSwitchOn(env['FORCE_COLOR']) || isSwitchOn(env['CLICOLOR_FORCE']);

/** `--no-color`, NO_COLOR and FORCE_COLOR=0 win over what forces them; TERM=dumb does not. */
export const usesColor = (env: Env, flag: boolean | undefined): boolean =>
  flag !== false &&
  env['NO_COLOR'] === undefined &&
  (env['FORCE_COLOR'] === undefined || isSwitchOn(env['FORCE_COLOR'])) &&
  (env['TERM'] !== 'dumb' || forcesColor(env));

/** Of a variable that is a switch: set, and neither `0` nor `false`. */
export const isSwitchOn = (variable: string | undefined): boolean =>
  variable !== undefined && !/^(0|false)$/i.test(variable);

/**
 * The value of a flag as it was typed, from the words of the command line: commander may not have
 * read them, or may have refused them. Undefined: it was not given.
 */
export function rawFlagValue(argv: readonly string[], flag: string): string | undefined {
  const ends = argv.indexOf('--');
  const words = ends < 0 ? argv : argv.slice(0, ends);
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return words[at] === flag ? words[at + 1] : words[at]?.slice(flag.length + 1);
}

/** How often `-v` was typed, in any spelling: `-v`, `-vv`, `-qv`, `--verbose`. */
const rawVerbosity = (argv: readonly string[]): number =>
  argv.reduce((sum, word) => {
    if (word === '--verbose') return sum + 1;
    return sum + (/^-[a-zA-Z]*v[a-zA-Z]*$/.test(word) ? word.split('v').length - 1 : 0);
  }, 0);

import { InvalidArgumentError, type Command } from 'commander';
import { environmentFaults } from '../../config/credentials.js';
import { oneAfterAnother } from '../../help/usage-error.js';
import { repeatedFlag } from '../flags/option-table.js';
import { isColored, isForced } from '../../ui/display-settings.js';
import { globalOptions } from '../flags/global-options.js';
import type { Runtime } from '../../runtime.js';

/** The global options as the commands use them: flag, else environment, else default. */
export interface Settings {
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
  Settings,
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
export const wrongVariables = (command: Command, runtime: Pick<Runtime, 'env'>) =>
  readValues(command.optsWithGlobals(), runtime).wrong;

/** Merges flags, environment and defaults. */
export function resolveSettings(command: Command, { env }: Runtime): Settings {
  const { values, flags, wrong } = readValues(command.optsWithGlobals(), { env });
  if (wrong.length > 0) {
    const all = [...wrong, ...environmentFaults({ env }, flags)];
    throw new InvalidArgumentError(oneAfterAnother(all));
  }
  const { timeout, retryFor, retryBase, logFormat, json, quiet, verbose, showPii, color, ...more } =
    values as unknown as Values;
  const { headerPrefix = [], ...others } = more;
  const headerPrefixes = [headerPrefix].flat();
  if (headerPrefixes.length > 1 && command.name() !== 'serve')
    throw repeatedFlag('--header-prefix <prefix>');
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
    color: isColored(env, color),
    forceColor: isForced(env),
    argv: wordsOf(command),
    flags,
  };
}

/** commander keeps the words of the command line, though its types do not say so. */
function wordsOf(command: Command): readonly string[] {
  const { parent } = command;
  return parent ? wordsOf(parent) : (command as Command & { rawArgs: string[] }).rawArgs;
}

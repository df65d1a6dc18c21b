import type { Runtime } from '../runtime.js';

type Env = Runtime['env'];

/** FORCE_COLOR and CLICOLOR_FORCE ask for colours where there is no terminal. */
export const isForced = (env: Env): boolean =>
  isOn(env['FORCE_COLOR']) || isOn(env['CLICOLOR_FORCE']);

/** `--no-color`, NO_COLOR and FORCE_COLOR=0 win over what forces them; TERM=dumb does not. */
export const isColored = (env: Env, flag: boolean | undefined): boolean =>
  flag !== false &&
  env['NO_COLOR'] === undefined &&
  (env['FORCE_COLOR'] === undefined || isOn(env['FORCE_COLOR'])) &&
  (env['TERM'] !== 'dumb' || isForced(env));

/** Of a variable that is a switch: set, and neither `0` nor `false`. */
export const isOn = (variable: string | undefined): boolean =>
  variable !== undefined && !/^(0|false)$/i.test(variable);

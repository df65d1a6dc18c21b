import type { Runtime } from '../runtime.js';
import { inert, inertJson } from './inert.js';

/** What the global options say about what is shown, and how. What is left out is off. */
export interface DisplaySettings {
  readonly json?: boolean;
  /** `--log-format json`. */
  readonly logJson?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly color?: boolean;
  /** Colours also where there is no terminal. */
  readonly forceColor?: boolean;
  readonly progress?: 'auto' | 'always' | 'never';
}

/**
 * Lines for people on stderr; under `--json` and `--log-format json` each is one object
 * `{"type":"note"|"warning"|"verbose","message":"…"}`. `--quiet` drops them all: errors are
 * thrown, and shown by main.
 */
export interface Messages {
  note(text: string): void;
  /** `about`: what the object says besides. */
  warn(text: string, about?: object): void;
  /** One line about a request or a retry: shown with `--verbose` only. */
  verbose(text: string): void;
}

export function messages(
  { json, logJson, quiet, verbose, color, forceColor }: DisplaySettings,
  { stderr, env }: Pick<Runtime, 'stderr' | 'env'>,
): Messages {
  const terminal = stderr.isTTY === true && env['TERM'] !== 'dumb';
  // A bar or a spinner may stand in the line: it draws itself again on the next one.
  const clearLine = terminal ? '\r\u001B[K' : '';
  const warning = color && (terminal || forceColor) ? '\u001B[33mwarning:\u001B[39m ' : 'warning: ';
  const write = (type: 'note' | 'warning' | 'verbose', message: string, about?: object): void => {
    if (quiet) return;
    const prefix = type === 'warning' ? warning : '';
    const isJson = json || logJson;
    const line = isJson
      ? inertJson({ type, message, ...about })
      : `${clearLine}${prefix}${inert(message)}`;
    stderr.write(`${line}\n`);
  };
  return {
    note: (text) => write('note', text),
    warn: (text, about) => write('warning', text, about),
    verbose: (text) => {
      if (verbose) write('verbose', text);
    },
  };
}

import type { Runtime } from '../runtime.js';
import type { DisplaySettings } from './display-settings.js';
import { inert, inertJson } from './inert.js';

/**
 * Lines for people on stderr; under `--json` and `--log-format json` each is one object
 * `{"type":"note"|"warning"|"verbose","message":"…"}`. `--quiet` drops them all: errors are
 * thrown, and shown by main.
 */
export interface Messages {
  note(text: string): void;
  warn(text: string): void;
  /** One line about a request or a retry: shown with `--verbose` only. */
  verbose(text: string): void;
}

export function messages(
  { json, logJson, quiet, verbose, color }: Omit<DisplaySettings, 'progress'>,
  { stderr, env }: Pick<Runtime, 'stderr' | 'env'>,
): Messages {
  const terminal = stderr.isTTY === true && env['TERM'] !== 'dumb';
  const write = (type: 'note' | 'warning' | 'verbose', text: string): void => {
    if (quiet) return;
    if (json || logJson) stderr.write(`${inertJson({ type, message: text })}\n`);
    else
      stderr.write(
        `${terminal ? clearLine : ''}${prefix(type, color && terminal)}${inert(text)}\n`,
      );
  };
  return {
    note: (text) => write('note', text),
    warn: (text) => write('warning', text),
    verbose: (text) => {
      if (verbose) write('verbose', text);
    },
  };
}

/** A bar or a spinner may stand in the line: it draws itself again on the next one. */
const clearLine = '\r\u001B[K';

function prefix(type: 'note' | 'warning' | 'verbose', color: boolean): string {
  if (type !== 'warning') return '';
  return color ? '\u001B[33mwarning:\u001B[39m ' : 'warning: ';
}

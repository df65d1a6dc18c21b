import { withProgramName } from '../wording.js';
import { sanitize, sanitizedJson, jsonAnswer } from './sanitize.js';
import { maskPersonalData } from './mask.js';
import type { Reporter } from '../jobs/job-context.js';
import type { QuotedText } from '../errors.js';
import type { Runtime } from '../runtime.js';
import type { DisplaySettings } from './display-settings.js';

type Print = (type: MessageType, text: string, about?: object, quoted?: QuotedText) => void;
type MessageType = 'note' | 'warning' | 'verbose' | 'debug';

/** GitHub runs a line that starts like this as a command; a file name at the start of a note could. */
const commandStart = /^\s*::/;

/**
 * Creates the reporter that prints messages to stderr; under `--json` and `--log-format json` each is
 * one object `{"type":"note"|"warning"|"verbose"|"debug","message":"…"}`. `--quiet` drops all of them:
 * errors are thrown and printed by main. The log file receives them in any case. Lines about requests
 * have a time.
 */
export type Messages = Reporter;

export function messagePrinter(
  settings: DisplaySettings,
  { stderr, env, now, log, program }: Pick<Runtime, 'stderr' | 'env' | 'now' | 'log' | 'program'>,
): Messages {
  const { json, logJson, quiet, verbose, debug, color, forceColor } = settings;
  const terminal = stderr.isTTY === true && env['TERM'] !== 'dumb';
  // The line may contain a bar or a spinner, which is redrawn on the next line.
  const clearLine = terminal ? '\r\u001B[K' : '';
  const warning = color && (terminal || forceColor) ? '\u001B[33mwarning:\u001B[39m ' : 'warning: ';
  const print: Print = (type, text, about, quoted) => {
    // Our own messages come with an object; the others quote the service.
    const isForeign = type === 'verbose' && about === undefined;
    const called = isForeign ? text : withProgramName(text, program);
    const message = maskPersonalData(called, settings, { ...quoted, isForeign });
    log?.({ type, text: message, about: { message, ...about } });
    const isEnabled = type === 'verbose' ? verbose : type === 'debug' ? debug : true;
    if (quiet || !isEnabled) return;
    const time = type === 'verbose' || type === 'debug' ? new Date(now()).toISOString() : undefined;
    const start = commandStart.test(message) ? 'note: ' : '';
    const prefix = type === 'warning' ? warning : time === undefined ? start : `${time} `;
    const line =
      json || logJson
        ? sanitizedJson({ type, ...(time !== undefined && { time }), message, ...about })
        : `${clearLine}${prefix}${sanitize(message)}`;
    stderr.write(`${line}\n`);
  };
  return {
    note: (text, about) => print('note', text, about),
    warn: (text, about, quoted) => print('warning', text, about, quoted),
    verbose: (text, about) => {
      if (verbose || log) print('verbose', text, about);
    },
    debug: (made) => {
      const entry = debug ? made() : undefined;
      if (entry) print('debug', ...entry);
    },
  };
}

/** For people: text on stdout, or a note on stderr. */
type Words = { readonly text: string } | { readonly note: string };

/** Prints the answer of a command: with `--json` one object on stdout, otherwise text. */
export function printAnswer(
  settings: DisplaySettings,
  runtime: Runtime,
  object: object,
  words: Words,
): void {
  if (settings.json) runtime.stdout.write(jsonAnswer(object));
  else if ('note' in words) messagePrinter(settings, runtime).note(words.note);
  else if (words.text !== '') runtime.stdout.write(sanitize(words.text));
}

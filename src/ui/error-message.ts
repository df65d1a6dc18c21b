import { withProgramName } from '../wording.js';
import { errorExplanations } from '../error-explanations.js';
import { EngagectlError, errorIds, exitCodes, groupDigits } from '../errors.js';
import type { DisplaySettings } from './display-settings.js';
import { sanitize, typedLine } from './sanitize.js';
import { maskError } from './mask.js';
import type { Runtime } from '../runtime.js';

/**
 * Prints what failed, why, what to do next and where to read more; as one JSON object under `--json` and
 * `--log-format json`. Missing parts come from the explanation of the error id.
 */
export function printError(
  thrown: unknown,
  { stderr, log, program }: Pick<Runtime, 'stderr' | 'log' | 'program'>,
  settings: DisplaySettings,
): void {
  const { json, logJson, verbose, color, forceColor } = settings;
  const error = maskError(thrown, settings);
  if (error instanceof EngagectlError && error.exitCode === exitCodes.closedPipe) return;
  const described = describe(error, program);
  const stack = error instanceof EngagectlError ? '' : `\n${sanitize(stackOf(error))}\n`;
  log?.({
    type: 'error',
    text: `${asText(described, program, false).slice('error '.length)}${stack}`,
    about: { error: described },
  });
  if (json || logJson) {
    stderr.write(typedLine('error', { error: described }, { logJson }));
    return;
  }
  const isColored = color === true && (stderr.isTTY === true || forceColor === true);
  const help = error instanceof EngagectlError ? error.details.help : undefined;
  const text = `${asText(described, program, isColored)}${verbose ? stack : ''}`;
  stderr.write(help === undefined ? text : `${text}\n${help}`);
}

/**
 * Maximum characters of text that may come from a file, such as column names. Text from the service was
 * already truncated to fewer.
 */
const maxLength = 3000;

function truncateMessage(text: string): string {
  if (text.length <= maxLength) return text;
  const start = text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '');
  return `${start}… (${groupDigits(text.length - start.length)} more characters)`;
}

/** Members of an error's JSON object, in order. */
function describe(error: unknown, program: string) {
  const id = error instanceof EngagectlError ? error.id : 'E-DEFECT';
  const { why, fix, file, line, column } = error instanceof EngagectlError ? error.details : {};
  const note = errorExplanations[id];
  return {
    id,
    message: truncateMessage(error instanceof Error ? error.message : String(error)),
    why: truncateMessage(withProgramName(why ?? note.means, program)),
    fix: withProgramName(fix ?? note.next[0], program),
    file,
    line,
    column,
    exitCode: errorIds[id],
  };
}

function asText(
  { id, message, why, fix }: ReturnType<typeof describe>,
  program: string,
  color: boolean,
): string {
  const word = color ? '\u001B[31merror\u001B[39m' : 'error';
  const lines = [`${id}: ${message}`, `  why: ${why}`, `  fix: ${fix}`];
  return `${word} ${sanitize(lines.join('\n'))}\n  more: ${program} help errors ${id}\n`;
}

const stackOf = (error: unknown): string => (error instanceof Error && error.stack) || '';

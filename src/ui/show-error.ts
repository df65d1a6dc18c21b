import { errorNotes } from '../error-notes.js';
import { EngagectlError, errorIds, exitCodes } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { isColored, isForced } from './colors.js';
import { inert, inertJson } from './inert.js';
import type { DisplaySettings } from './messages.js';

/** Read from the words of the command line: the error may be that they cannot be parsed. */
export const errorSettings = (
  argv: readonly string[],
  { env }: Pick<Runtime, 'env'>,
): DisplaySettings => ({
  json: argv.includes('--json'),
  logJson: argv.includes('--log-format=json') || argv[argv.indexOf('--log-format') + 1] === 'json',
  verbose: argv.includes('--verbose') || argv.includes('-v'),
  color: isColored(env, !argv.includes('--no-color')),
  forceColor: isForced(env),
});

/**
 * Prints what failed, why, what to do next and where more is said; as one JSON object under
 * `--json` and `--log-format json`. What the error itself does not know is taken from the notes on its id.
 */
export function showError(
  error: unknown,
  { stderr }: Pick<Runtime, 'stderr'>,
  { json, logJson, verbose, color, forceColor }: DisplaySettings,
): void {
  if (error instanceof EngagectlError && error.exitCode === exitCodes.closedPipe) return;
  const shown = describe(error);
  if (json || logJson) {
    const type = logJson ? { type: 'error' } : {};
    stderr.write(`${inertJson({ ...type, error: shown })}\n`);
    return;
  }
  const stack = error instanceof EngagectlError || !verbose ? '' : `\n${inert(stackOf(error))}\n`;
  stderr.write(
    `${asText(shown, color === true && (stderr.isTTY === true || forceColor === true))}${stack}`,
  );
}

/** The members of an error's JSON object, in their order. */
function describe(error: unknown) {
  const id = error instanceof EngagectlError ? error.id : 'E-DEFECT';
  const { why, fix, file, line, column } = error instanceof EngagectlError ? error.details : {};
  const note = errorNotes[id];
  return {
    id,
    message: error instanceof Error ? error.message : String(error),
    why: why ?? note.means,
    fix: fix ?? note.next[0],
    file,
    line,
    column,
    exitCode: errorIds[id],
  };
}

function asText({ id, message, why, fix }: ReturnType<typeof describe>, color: boolean): string {
  const word = color ? '\u001B[31merror\u001B[39m' : 'error';
  const lines = [`${id}: ${message}`, `  why: ${why}`, `  fix: ${fix}`];
  return `${word} ${inert(lines.join('\n'))}\n  more: engagectl help errors ${id}\n`;
}

const stackOf = (error: unknown): string => (error instanceof Error && error.stack) || '';

import { EngagectlError, exitCodes } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { inert, inertJson } from './inert.js';

/** Prints what failed, why and how to go on; as one JSON object under `--json`. */
export function showError(
  error: unknown,
  { stderr }: Pick<Runtime, 'stderr'>,
  { json, verbose }: { readonly json: boolean; readonly verbose: boolean },
): void {
  if (error instanceof EngagectlError && error.exitCode === exitCodes.closedPipe) return;
  stderr.write(json ? `${inertJson({ error: asObject(error) })}\n` : asText(error, verbose));
}

function asObject(error: unknown): object {
  if (!(error instanceof EngagectlError)) {
    return { id: 'E-DEFECT', message: messageOf(error), exitCode: exitCodes.defect };
  }
  const { why, fix, file, line, column } = error.details;
  const { id, message, exitCode } = error;
  return { id, message, why, fix, file, line, column, exitCode };
}

function asText(error: unknown, verbose: boolean): string {
  if (!(error instanceof EngagectlError)) {
    const stack = error instanceof Error && verbose ? `\n${error.stack ?? ''}` : '';
    return inert(
      `engagectl: E-DEFECT: ${messageOf(error)}\n` +
        `  why: this is a defect in engagectl, not in what you typed\n` +
        `  fix: run it again with --verbose and report the trace\n${stack}`,
    );
  }
  const { why, fix } = error.details;
  const lines = [`engagectl: ${error.id}: ${error.message}`];
  if (why !== undefined) lines.push(`  why: ${why}`);
  if (fix !== undefined) lines.push(`  fix: ${fix}`);
  return `${inert(lines.join('\n'))}\n`;
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

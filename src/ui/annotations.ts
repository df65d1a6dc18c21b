import path from 'node:path';
import type { FirstReject } from '../jobs/job-hooks.js';
import type { Runtime } from '../runtime.js';
import { inert } from './inert.js';
import type { DisplaySettings } from './messages.js';

export interface AnnotationWorld {
  readonly settings: DisplaySettings;
  readonly runtime: Pick<Runtime, 'stderr' | 'env' | 'cwd'>;
}

/**
 * Under GitHub Actions: a line `::error file=…,line=…::…` for each reject, which its page shows at
 * that line of the input. On stderr, as the runner reads both streams and stdout carries data; not
 * under `--json` and `--log-format json`, where stderr carries JSON lines only. False where this is not the place.
 */
export function annotate(
  rejects: readonly FirstReject[],
  { settings, runtime }: AnnotationWorld,
): boolean {
  const { env, stderr, cwd } = runtime;
  if (env['GITHUB_ACTIONS'] !== 'true' || settings.json || settings.logJson) return false;
  const root = env['GITHUB_WORKSPACE'] ?? cwd;
  for (const { source, line, kind, error } of rejects) {
    const title = `title=${property(`engagectl: ${kind}`)}`;
    const file = property(path.relative(root, path.resolve(cwd, source)));
    const annotation =
      source === 'stdin'
        ? `${title}::${data(`line ${line}: ${error}`)}`
        : `file=${file},line=${line},${title}::${data(error)}`;
    stderr.write(`::error ${annotation}\n`);
  }
  return true;
}

/** The runner ends a command at a line end; what looks like one in the text must not begin one. */
const data = (text: string): string =>
  inert(text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A'));

const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

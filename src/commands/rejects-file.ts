import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import type { Tally } from '../bulk/tally.js';
import { RejectsFile } from '../output/rejects-file.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { annotate, type AnnotationWorld } from '../ui/annotations.js';
import type { Messages } from '../ui/messages.js';

/** Lines on the screen. */
const shownRejects = 5;

interface RejectsPlace {
  readonly command: string;
  /** What `--rejects` says. */
  readonly named: string | undefined;
  readonly files: readonly string[];
  /** The first input; `stdin` for standard input. */
  readonly first: string;
}

/**
 * The rejects file of a run, not created yet. Throws E-USAGE where it is an input of the run or
 * no regular file, E-FILE-WRITE where its place cannot hold it.
 */
export function openRejects(
  { command, named, files, first }: RejectsPlace,
  { cwd }: Pick<Runtime, 'cwd'>,
): RejectsFile {
  const beside = first === 'stdin' ? `engagectl-${command}` : first;
  const name = named ?? `${beside}.rejects.ndjson`;
  const file = path.resolve(cwd, name);
  if (files.some((input) => [file, `${file}.1`].includes(path.resolve(cwd, input)))) {
    throw new EngagectlError('E-USAGE', `${name} is an input of this run`, {
      why: 'the rejects file would take its place',
      fix: 'name another one with --rejects <file>',
    });
  }
  const found = guarded(name, () => statSync(file, { throwIfNoEntry: false }));
  if (found?.isFile() === false) {
    throw new EngagectlError('E-USAGE', `${name} is no regular file`, {
      why: 'an older rejects file is renamed, and a resumed run goes on with it',
      fix: 'name another one with --rejects <file>',
    });
  }
  // Beside an input that can only be read, there may be nothing to reject.
  if (named !== undefined) guarded(named, () => accessSync(path.dirname(file), constants.W_OK));
  return new RejectsFile(name, file);
}

function guarded<T>(name: string, look: () => T): T {
  try {
    return look();
  } catch (cause) {
    throw new EngagectlError('E-FILE-WRITE', `the rejects file ${name} could not be written`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: 'name another place with --rejects <file>',
      file: name,
      cause,
    });
  }
}

/** The first few rejects, then how many there were of each kind. */
export function showRejects(
  { samples: { first: firstRejects, kinds: rejectKinds }, rejects }: Tally,
  said: Messages,
  world: AnnotationWorld,
): void {
  const annotated = annotate(firstRejects, world);
  const shown = annotated ? firstRejects : firstRejects.slice(0, shownRejects);
  if (!annotated) {
    for (const { source, line, kind, error } of shown) {
      said.warn(`${source}:${line}: ${kind}: ${error}`);
    }
  }
  const total = [...rejectKinds.values()].reduce((sum, { count }) => sum + count, 0);
  if (total > shown.length) {
    const kinds = [...rejectKinds].map(([kind, { count }]) => `${count} ${kind}`).join(', ');
    said.warn(`${total} records${rejects.exists ? ` in ${rejects.path}` : ''}: ${kinds}`);
  }
  if (rejects.missing > 0) {
    said.warn(`${rejects.missing} of them are in no file: ${rejects.path} could not be written`);
  }
}

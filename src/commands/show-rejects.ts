import type { WriteEnding } from '../jobs/write-request.js';
import { annotate, type AnnotationWorld } from '../ui/annotations.js';
import type { Messages } from '../ui/messages.js';

/** Lines on the screen. */
const shownRejects = 5;

type Rejects = Pick<WriteEnding, 'firstRejects' | 'rejectKinds' | 'rejects'>;

/** The first few rejects, then how many there were of each kind. */
export function showRejects(
  { firstRejects, rejectKinds, rejects }: Rejects,
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

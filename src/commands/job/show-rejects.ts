import { grouped } from '../../ui/figures.js';
import type { ToldRejects } from '../../jobs/job-hooks.js';
import { annotate, rejectText, type AnnotationWorld } from '../../ui/annotations.js';
import type { Messages } from '../../ui/messages.js';

/** Lines on the screen. */
const shownRejects = 5;

/** The first few rejects, then how many there were of each kind. */
export function showRejects(
  { samples: { first, kinds }, rejects }: ToldRejects,
  said: Messages,
  world: AnnotationWorld,
): void {
  const annotated = annotate(first, world);
  const shown = annotated ? first : first.slice(0, shownRejects);
  if (!annotated) {
    for (const reject of shown) {
      const { source: file, line, kind, code } = reject;
      said.warn(`${file}:${line}: ${kind}: ${rejectText(reject, world.settings)}`, {
        file,
        line,
        code,
      });
    }
  }
  const total = [...kinds.values()].reduce((sum, { count }) => sum + count, 0);
  if (total > shown.length) {
    const each = [...kinds].map(([kind, { count }]) => `${grouped(count)} ${kind}`).join(', ');
    said.warn(`${grouped(total)} records${rejects.exists ? ` in ${rejects.path}` : ''}: ${each}`);
  }
  if (rejects.missing > 0) {
    said.warn(
      `${grouped(rejects.missing)} of them are in no file: ${rejects.path} could not be written`,
    );
  }
}

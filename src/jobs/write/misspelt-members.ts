import type { RecordBlock } from '../../mapping/records.js';
import { findingsOf } from '../../mapping/survey/findings.js';
import { Survey } from '../../mapping/survey/survey.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';

/** Mistakes in the names of members; those of a CSV are seen in its header. */
const told = new Set(['field-spelling', 'outside-data', 'event-as-profile']);

/**
 * What is to be said of members of JSON records that the service does not take for what was hardly
 * meant otherwise. Only the first block is looked at: in a run, no record costs more for it.
 */
export function misspeltMembers(mapping: UploadMapping): (block: RecordBlock) => readonly string[] {
  let isDone = false;
  return (block) => {
    if (isDone || block.rows.cells || block.count === 0) return [];
    isDone = true;
    const survey = new Survey();
    survey.add(block);
    return findingsOf(survey, [], mapping).mistakes.flatMap(({ id, column, what, fix }) =>
      told.has(id) ? `${block.rows.source}: ${JSON.stringify(column)} ${what}: ${fix}` : [],
    );
  };
}

import type { RecordBlock } from '../../mapping/records.js';
import { findingsOf } from '../../mapping/survey/findings.js';
import { Survey } from '../../mapping/survey/survey.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import { quotedIn } from './known-refusals.js';
import type { Remark } from './write-request.js';

/** What a spreadsheet made of long numbers: of identities, one user of many. */
const ofValues = 'shortened-number';

/** Mistakes in the names of members; those of a CSV are seen in its header. */
const ofNames = new Set(['field-spelling', 'outside-data', 'event-as-profile']);

/**
 * What is to be said in every run of what the service takes and was hardly meant so. Only the first block is
 * looked at: no record costs more for it.
 */
export function firstLook(mapping: UploadMapping): (block: RecordBlock) => readonly Remark[] {
  let isDone = false;
  return (block) => {
    if (isDone || block.count === 0) return [];
    isDone = true;
    const { source, cells, bytes } = block.rows;
    // Of names the header told. To begin a survey costs 3 ms.
    if (cells && !/\d[eE][+-]?\d/.test(bytes.toString('latin1'))) return [];
    const survey = new Survey();
    survey.add(block);
    return findingsOf(survey, [], mapping).mistakes.flatMap(({ id, column, what, fix }) => {
      const text = `${source}: ${JSON.stringify(column)} ${what}: ${fix}`;
      if (id === ofValues) return { text, personal: quotedIn(what) };
      return cells || !ofNames.has(id) ? [] : { text, personal: [] };
    });
  };
}

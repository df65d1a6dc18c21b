import { isPersonal } from '../../bulk/outcomes/personal-data.js';
import { findingsOf } from '../../mapping/preview/findings.js';
import { Survey } from '../../mapping/preview/field-statistics.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { Remark, Remarks } from './write-request.js';

/**
 * What is to be said in every run of what the service takes and was hardly meant so: only the first block is looked
 * at, so that no record costs more for it. And in a check, what a preview would call a likely mistake that the service
 * refuses: a survey takes far longer than all else of a check, so that of long inputs it gets ever fewer
 * blocks: the first, second, fourth, eighth …
 */
export function uploadRemarks(
  mapping: UploadMapping,
  headers: readonly (readonly string[])[],
  isCheck: boolean,
): Remarks {
  const survey = isCheck ? new Survey() : undefined;
  let blocks = 0;
  let isFirst = true;
  return {
    look: (block) => {
      blocks += 1;
      if (isPowerOfTwo(blocks)) survey?.add(block);
      if (!isFirst || block.count === 0) return [];
      isFirst = false;
      return doubtsOf(block, mapping);
    },
    found: () => (survey ? refusalsOf(survey, headers, mapping) : []),
  };
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** What a spreadsheet made of long numbers: of identities, one user of many. */
const ofValues = 'shortened-number';

/** Mistakes in the names of members; those of a CSV are seen in its header. */
const ofNames = new Set(['field-spelling', 'outside-data', 'event-as-profile']);

function doubtsOf(block: RecordBlock, mapping: UploadMapping): readonly Remark[] {
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
}

const refusalsOf = (
  survey: Survey,
  headers: readonly (readonly string[])[],
  mapping: UploadMapping,
): readonly Remark[] =>
  findingsOf(survey, headers, mapping).mistakes.flatMap(({ column, what, code, line, fix }) => {
    if (code === null) return [];
    const name = column === null ? '' : `column ${JSON.stringify(column)}: `;
    const where = line === null ? '' : `, first on line ${line}`;
    const text = `${name}${what}${where}; the service refuses it with ${code}: ${fix}`;
    const isOfPerson = column !== null && isPersonal(column, [mapping.identity]);
    return [{ text, personal: isOfPerson ? quotedIn(what) : [] }];
  });

const quotedIn = (text: string): string[] =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([found]) => JSON.parse(found) as string);

import { isPersonal } from '../../bulk/personal-values.js';
import { findingsOf } from '../../mapping/survey/findings.js';
import { Survey } from '../../mapping/survey/survey.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { Refusals } from './write-request.js';

/**
 * What a preview would call a likely mistake that the service refuses, for a check of an upload. A survey takes far
 * longer than all else of a check, so that of long inputs it gets ever fewer blocks: the first, second, fourth, eighth …
 */
export function knownRefusals(
  mapping: UploadMapping,
  headers: readonly (readonly string[])[],
): Refusals {
  const survey = new Survey();
  let blocks = 0;
  return {
    look: (block) => {
      blocks += 1;
      if (isPowerOfTwo(blocks)) survey.add(block);
    },
    found: () =>
      findingsOf(survey, headers, mapping).mistakes.flatMap(({ column, what, code, line, fix }) => {
        if (code === null) return [];
        const name = column === null ? '' : `column ${JSON.stringify(column)}: `;
        const where = line === null ? '' : `, first on line ${line}`;
        const text = `${name}${what}${where}; the service refuses it with ${code}: ${fix}`;
        const isOfPerson = column !== null && isPersonal(column, [mapping.identity]);
        return [{ text, personal: isOfPerson ? quotedIn(what) : [] }];
      }),
  };
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

export const quotedIn = (text: string): string[] =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([found]) => JSON.parse(found) as string);

import { findingsOf } from '../../mapping/survey/findings.js';
import { Survey } from '../../mapping/survey/survey.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { Refusals } from './write-request.js';

/** Text that is looked at: as much as a preview looks at. */
const mostBytes = 16 * 1024 * 1024;

/** What a preview would call a likely mistake that the service refuses, for a check of an upload. */
export function knownRefusals(
  mapping: UploadMapping,
  headers: readonly (readonly string[])[],
): Refusals {
  const survey = new Survey();
  let bytes = 0;
  return {
    look: (block) => {
      if (bytes < mostBytes) survey.add(block);
      bytes += block.rows.bytes.length;
    },
    found: () =>
      findingsOf(survey, headers, mapping).mistakes.flatMap(({ column, what, code, line, fix }) => {
        if (code === null) return [];
        const name = column === null ? '' : `column ${JSON.stringify(column)}: `;
        const where = line === null ? '' : `, first on line ${line}`;
        return `${name}${what}${where}; the service refuses it with ${code}: ${fix}`;
      }),
  };
}

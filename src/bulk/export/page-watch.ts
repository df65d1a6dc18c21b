import { crc32 } from 'node:zlib';
import { EngagectlError, type OptionName } from '../../errors.js';
import type { RecordPage } from '../../text/record-page.js';

/** Most pages in a row that bring nothing new. */
const mostStale = 1000;

/** Sees to it that the pages of a cursor come to an end: each has another cursor, but what is on it? */
export class PageWatch {
  readonly #option: OptionName;
  #last: string | undefined;
  #stale = 0;

  constructor(option: OptionName) {
    this.#option = option;
  }

  /** Throws E-CURSOR for the page before it once more, and for too many in a row without records. */
  pass(page: RecordPage): void {
    const records = markOf(page);
    const isSame = records !== undefined && records === this.#last;
    // A single record may well be there twice.
    if (isSame && page.count > 1) throw samePage(page.count, this.#option);
    this.#stale = records === undefined || isSame ? this.#stale + 1 : 0;
    if (this.#stale >= mostStale) throw nothingNew(this.#option);
    this.#last = records ?? this.#last;
  }
}

/** Undefined without records. */
function markOf({ bytes, bounds, count }: RecordPage): string | undefined {
  if (count === 0) return undefined;
  const records = bytes.subarray(bounds[0], bounds[2 * count - 1]);
  return `${count} ${records.length} ${crc32(records)}`;
}

const samePage = (count: number, option: OptionName): EngagectlError =>
  new EngagectlError('E-CURSOR', `the service sent the same ${count} records under two cursors`, {
    why: 'going on would repeat records that are there already',
    fix: fixOf(option),
  });

const nothingNew = (option: OptionName): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent ${mostStale} pages in a row without new records`,
    {
      why: 'each names another cursor, and none of them leads to an end',
      fix: fixOf(option),
    },
  );

const fixOf = (option: OptionName): string =>
  `start the export again with ${option('fresh')}; if it happens again, it is a fault of the service`;

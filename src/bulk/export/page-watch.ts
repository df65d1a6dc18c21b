import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { EngagectlError, type OptionName, grouped } from '../../errors.js';
import type { RecordPage } from '../../text/record-page.js';

/** Most pages in a row that bring nothing new. */
const mostStale = 1000;

/**
 * Sees to it that the pages of a cursor come to an end: each has another cursor, but what is on it? A
 * service may go round in a circle of pages, so all of them are remembered, by a mark each.
 */
export class PageWatch {
  readonly #option: OptionName;
  readonly #seen = new Set<string>();
  #stale = 0;

  constructor(option: OptionName) {
    this.#option = option;
  }

  /** Throws E-CURSOR for an earlier page once more, and for too many in a row that bring nothing new. */
  pass(page: RecordPage): void {
    const mark = markOf(page);
    const isNew = mark !== undefined && !this.#seen.has(mark);
    // A single record may well be there twice.
    if (mark !== undefined && !isNew && page.count > 1) throw samePage(page.count, this.#option);
    this.#stale = isNew ? 0 : this.#stale + 1;
    if (this.#stale >= mostStale) throw nothingNew(this.#option);
    if (isNew) this.#seen.add(mark);
  }
}

/**
 * Of its records; undefined without any. The checksum is over all of them. It is short, and pages are
 * many: so the beginning and the end go into a digest, too, which would take long over a whole page.
 */
function markOf({ bytes, bounds, count }: RecordPage): string | undefined {
  if (count === 0) return undefined;
  const records = bytes.subarray(bounds[0], bounds[2 * count - 1]);
  const ends = createHash('sha256')
    .update(records.subarray(0, digested))
    .update(records.subarray(-digested));
  return `${count} ${records.length} ${crc32(records)} ${ends.digest('base64')}`;
}

/** Bytes at each end of a page. */
const digested = 4096;

const samePage = (count: number, option: OptionName): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent the same ${grouped(count)} records under two cursors`,
    {
      why: 'going on would repeat records that are there already',
      fix: fixOf(option),
    },
  );

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

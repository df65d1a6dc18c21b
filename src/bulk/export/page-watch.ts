import { EngagectlError, type OptionName, count } from '../../errors.js';
import type { ScannedPage } from '../../text/page-scanner.js';

/** Most pages in a row that bring nothing new. */
const mostStale = 1000;

/**
 * Sees to it that the pages of a cursor come to an end: each has another cursor, but what is on it? A
 * service may go round in a circle of pages, so all of them are remembered, by a hash each.
 */
export class PageWatch {
  readonly #option: OptionName;
  readonly #seen = new Set<bigint>();
  #stale = 0;

  constructor(option: OptionName) {
    this.#option = option;
  }

  /** Throws E-CURSOR for an earlier page once more, and for too many in a row that bring nothing new. */
  pass({ count, hash }: ScannedPage): void {
    const own = count === 0 ? undefined : hash();
    const isNew = own !== undefined && !this.#seen.has(own);
    // A single record may well be there twice.
    if (own !== undefined && !isNew && count > 1) throw samePage(count, this.#option);
    this.#stale = isNew ? 0 : this.#stale + 1;
    if (this.#stale >= mostStale) throw nothingNew(this.#option);
    if (isNew) this.#seen.add(own);
  }
}

const samePage = (records: number, option: OptionName): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent the same ${count(records, 'record')} under two cursors`,
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

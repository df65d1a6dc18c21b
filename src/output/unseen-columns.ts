import { didYouMean } from '../nearest.js';
import type { RecordPage } from '../text/record-page.js';
import { Flattener } from '../text/flattener.js';

/** Pages that are looked through for columns that do not occur: each is flattened once more. */
const mostPages = 20;

/** Columns that were asked for and do not occur: a name that was hardly meant so. */
export class UnseenColumns {
  readonly #wanted: Set<string>;
  readonly #seen = new Flattener({ columns: [], fixed: false, escapeFormulas: false });
  #pages = 0;

  constructor(columns: readonly string[]) {
    this.#wanted = new Set(columns);
  }

  look(page: RecordPage): void {
    if (this.#wanted.size === 0 || this.#pages >= mostPages) return;
    this.#pages += 1;
    for (const _ of this.#seen.rows(page));
    for (const name of this.#seen.columns) this.#wanted.delete(name);
  }

  warnings(): string[] {
    if (this.#pages === 0) return [];
    const where = this.#pages < mostPages ? '' : ` in the first ${mostPages} pages`;
    return [...this.#wanted].map(
      (name) =>
        `column ${JSON.stringify(name)} does not occur${where}${didYouMean(name, this.#seen.columns)}`,
    );
  }
}

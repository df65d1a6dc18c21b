import { didYouMean } from '../nearest.js';
import type { RecordPage } from '../text/record-page.js';
import { Flattener } from '../text/flattener.js';

/** Pages that are looked through for columns that do not occur. */
const mostPages = 20;

/** Columns that were asked for and do not occur: a name that was hardly meant so. */
export class UnseenColumns {
  readonly #wanted: Set<string>;
  readonly #seen = new Flattener({ escapeFormulas: false });
  #pages = 0;

  constructor(columns: readonly string[]) {
    this.#wanted = new Set(columns);
  }

  look(page: RecordPage): void {
    if (this.#wanted.size === 0 || this.#pages >= mostPages) return;
    this.#pages += 1;
    this.#seen.learn(page);
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

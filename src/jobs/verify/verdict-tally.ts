import { grouped } from '../../errors.js';
import type { Verdict } from './verdict.js';

type What = Verdict['what'];

/** Counts verdicts. */
export class VerdictTally {
  readonly counts = { checked: 0, same: 0, different: 0, missing: 0, untold: 0, foldedKeys: 0 };
  readonly #byWhat = new Map<What, { checked: number; differing: number }>();
  readonly #untold = new Map<string, number>();

  add({ what, verdict, count, untold, foldedKeys }: Verdict): void {
    const of = this.of(what);
    this.#byWhat.set(what, of);
    this.counts[verdict] += count;
    this.counts.foldedKeys += foldedKeys;
    for (const why of untold) this.#untold.set(why, (this.#untold.get(why) ?? 0) + 1);
    if (verdict === 'untold') return;
    this.counts.checked += count;
    of.checked += count;
    if (verdict !== 'same') of.differing += count;
  }

  get checked(): number {
    return this.counts.checked;
  }

  get differing(): number {
    return this.counts.different + this.counts.missing;
  }

  of(what: What): { checked: number; differing: number } {
    return this.#byWhat.get(what) ?? { checked: 0, differing: 0 };
  }

  /** For people: what could not be compared, and what came back in another spelling. */
  *notes(): Generator<string> {
    for (const [why, count] of this.#untold) yield `${grouped(count)} not compared: ${why}`;
    const { foldedKeys } = this.counts;
    if (foldedKeys > 0) {
      yield `${grouped(foldedKeys)} keys came back in another spelling: lower case, without blanks`;
    }
  }
}

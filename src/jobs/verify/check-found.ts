import { lookUp, type LookUpContext, type Wanted } from '../../bulk/look-up.js';
import type { Identifier } from '../../mapping/identifier.js';
import { Again } from './again.js';
import { untold, type Verdict } from './verdict.js';

/** A user or an address that was sent. */
interface Sent extends Pick<Verdict, 'records'> {
  /** Whom endpoint 5 is asked for; undefined where it cannot find them. */
  readonly identifier: Identifier | undefined;
}

interface Check<T> {
  readonly what: Verdict['what'];
  /** What they are that cannot be looked up. */
  readonly unfindable: string;
  /** Holds a profile, as endpoint 5 gave it, against what was sent; undefined: nobody has the key. */
  readonly compare: (one: T, profile: string | undefined) => Verdict;
  /** Another look may find something else. */
  readonly isOpen: (verdict: Verdict) => boolean;
}

/** Looks users up by endpoint 5, and again those that are not as they were sent while there is time. */
export async function* checkFound<T extends Sent>(
  all: readonly T[],
  { what, unfindable, compare, isOpen }: Check<T>,
  checking: LookUpContext & { readonly within: number },
): AsyncGenerator<Verdict> {
  const again = new Again(checking.within, checking.runtime);
  let open = all.filter(({ identifier }) => identifier !== undefined);
  for (const one of all) if (!one.identifier) yield untold(what, one.records, unfindable);
  while (open.length > 0) {
    const others: T[] = [];
    for await (const { answer, origin } of lookUp(wanted(open), checking)) {
      if (!answer) continue; // the failure follows
      const verdict = compare(origin, answer.record?.toString());
      if (isOpen(verdict) && again.isLeft) others.push(origin);
      else yield verdict;
    }
    if (others.length > 0) await again.pause();
    open = others;
  }
}

// oxlint-disable-next-line typescript/require-await -- the shape of an input
async function* wanted<T extends Sent>(all: readonly T[]): AsyncGenerator<Wanted<T>> {
  for (const origin of all) yield { identifier: origin.identifier!, origin };
}

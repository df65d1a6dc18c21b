import { groupDigits } from '../../errors.js';
import type { SentInput } from './sent-input.js';
import type { VerdictTally } from './verdict.js';

/** How sure a sentence is of what it says about those that were not looked at. */
const sure = 0.95;

/**
 * The largest share of all that may differ, as a sample proves it: the exact one-sided bound of
 * Clopper and Pearson. With 0 of n it is 1 - 0.05^(1/n), which the rule of three puts at 3/n. It holds
 * for a sample of a finite number, too, and is then a little high.
 */
export function upperBound({ differing, checked }: Counts): number {
  if (differing >= checked) return 1;
  if (differing === 0) return 1 - (1 - sure) ** (1 / checked);
  return solve((p) => atMost(differing, checked, p) > 1 - sure);
}

interface Counts {
  readonly differing: number;
  readonly checked: number;
}

/** The end of the stretch from 0 on in which `holds`. */
function solve(holds: (p: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Probability of at most k of n, each with probability p. */
function atMost(k: number, n: number, p: number): number {
  if (p <= 0) return 1;
  if (p >= 1) return k >= n ? 1 : 0;
  let [sum, logTerm] = [0, n * Math.log1p(-p)];
  const odds = Math.log(p) - Math.log1p(-p);
  for (let i = 0; i <= k; i += 1) {
    sum += Math.exp(logTerm);
    logTerm += Math.log((n - i) / (i + 1)) + odds;
  }
  return Math.min(sum, 1);
}

/** A share as a percentage of two digits, rounded up: what is said stays true. */
export function roundUpPercent(share: number): string {
  const value = 100 * share;
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  // A hair of binary arithmetic must not become a whole step.
  const steps = Math.ceil(value / step - 1e-9);
  return `${Number((steps * step).toPrecision(3))} %`;
}

const singular = { users: 'user', addresses: 'address', events: 'event' } as const;

interface Found extends Counts {
  readonly what: keyof typeof singular;
  /** Nothing was left out. */
  readonly isWhole: boolean;
}

/** What is proved, in one sentence. */
export function proofText({ what, checked, differing, isWhole }: Found): string {
  const compared = checked === 1 ? `${singular[what]} differs` : `${what} differ`;
  const seen = `${groupDigits(differing)} of ${groupDigits(checked)} ${compared}`;
  if (isWhole) return `${seen}: all were compared`;
  const most = upperBound({ differing, checked });
  if (most === 1) return `${seen}: nothing is proved of the others`;
  return `${seen}: fewer than ${roundUpPercent(most)} of all do, 95 % sure`;
}

/**
 * What is proved, for each kind of thing that was compared; and the largest share of all users, or
 * addresses, that may differ, where a sample tells it. A part of a sample is a sample of its own.
 */
export function proofOfSample(tally: VerdictTally, sent: SentInput, isDone: boolean) {
  const samples = [
    { what: 'users', isWhole: sent.users.isWhole },
    { what: 'addresses', isWhole: sent.addresses.isWhole },
    { what: 'events', isWhole: true },
  ] as const;
  const seen = samples.filter(({ what }) => tally.of(what).checked > 0);
  const proofs = seen.map(({ what, isWhole }) =>
    proofText({ what, ...tally.of(what), isWhole: isWhole && isDone }),
  );
  const sampled = seen.find(({ what, isWhole }) => what !== 'events' && !(isWhole && isDone));
  return {
    proof: proofs.length > 0 ? proofs.join('; ') : 'nothing was compared: nothing is proved',
    mostDiffer: sampled ? upperBound(tally.of(sampled.what)) : null,
  };
}

import { groupDigits } from '../../errors.js';
import type { SentInput } from './sent-input.js';
import type { VerdictTally } from './verdict.js';

/** Confidence of statements about items outside the sample. */
const sure = 0.95;

/**
 * Returns the upper bound of the share that differs, given a sample: the exact one-sided
 * Clopper-Pearson bound. With 0 of n it is 1 - 0.05^(1/n), approximately 3/n (rule of three). For a
 * finite population it is slightly too high.
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

/** Finds the largest number in 0 to 1 for which `holds`, by bisection. */
function solve(holds: (p: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Returns the binomial probability of at most k of n. */
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

/** Formats a share as a percentage of two digits, rounded up so that the bound stays valid. */
export function roundUpPercent(share: number): string {
  const value = 100 * share;
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  // A rounding error of binary arithmetic must not add a step.
  const steps = Math.ceil(value / step - 1e-9);
  return `${Number((steps * step).toPrecision(3))} %`;
}

const singular = { users: 'user', addresses: 'address', events: 'event' } as const;

interface Found extends Counts {
  readonly what: keyof typeof singular;
  /** All items were compared. */
  readonly isWhole: boolean;
}

/** Returns what the comparison proves, in one sentence. */
export function proofText({ what, checked, differing, isWhole }: Found): string {
  const compared = checked === 1 ? `${singular[what]} differs` : `${what} differ`;
  const seen = `${groupDigits(differing)} of ${groupDigits(checked)} ${compared}`;
  if (isWhole) return `${seen}: all were compared`;
  const most = upperBound({ differing, checked });
  if (most === 1) return `${seen}: this proves nothing about the others`;
  return `${seen}: with 95 % confidence, fewer than ${roundUpPercent(most)} of all differ`;
}

/**
 * Returns the proof for each kind of item, and the upper bound of differing users or addresses if
 * they were sampled. If the check was stopped, the part that was checked is itself a sample.
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
    proof: proofs.length > 0 ? proofs.join('; ') : 'nothing was compared, so nothing is proved',
    mostDiffer: sampled ? upperBound(tally.of(sampled.what)) : null,
  };
}

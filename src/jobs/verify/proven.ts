import { mostOf, proofOf } from './proof.js';
import type { SentInput } from './read-sent.js';
import type { VerdictTally } from './verdict-tally.js';

/**
 * What is proved, for each kind of thing that was compared; and the largest share of all users, or
 * addresses, that may differ, where a sample tells it. A part of a sample is a sample of its own.
 */
export function proven(tally: VerdictTally, sent: SentInput, isDone: boolean) {
  const samples = [
    { what: 'users', isWhole: sent.users.isWhole },
    { what: 'addresses', isWhole: sent.addresses.isWhole },
    { what: 'events', isWhole: true },
  ] as const;
  const seen = samples.filter(({ what }) => tally.of(what).checked > 0);
  const proofs = seen.map(({ what, isWhole }) =>
    proofOf({ what, ...tally.of(what), isWhole: isWhole && isDone }),
  );
  const sampled = seen.find(({ what, isWhole }) => what !== 'events' && !(isWhole && isDone));
  return {
    proof: proofs.length > 0 ? proofs.join('; ') : 'nothing was compared: nothing is proved',
    mostDiffer: sampled ? mostOf(tally.of(sampled.what)) : null,
  };
}

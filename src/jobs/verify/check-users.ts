import { lookUp, type LookUpContext, type Wanted } from '../../bulk/look-up.js';
import { Again } from './again.js';
import { compareUser } from './compare-user.js';
import type { SentUser } from './sent-user.js';
import type { Verdict } from './verdict.js';

/** What checks need to ask the service. */
export interface Looking extends LookUpContext {
  /** Milliseconds. */
  readonly within: number;
}

/** Looks users up by endpoint 5, and again those that are not as they were sent while there is time. */
export async function* checkUsers(
  users: readonly SentUser[],
  looking: Looking,
): AsyncGenerator<Verdict> {
  const again = new Again(looking.within, looking.runtime);
  let open = users.filter((user) => user.identifier !== undefined);
  for (const user of users) if (user.identifier === undefined) yield cannotBeFound(user);
  for (;;) {
    const others: SentUser[] = [];
    for await (const { answer, identifier, origin } of lookUp(wanted(open), looking)) {
      if (!answer) continue; // the failure follows
      const verdict = compareUser(origin, identifier.value, answer.record?.toString());
      if (verdict.differences.length > 0 && again.isLeft) others.push(origin);
      else yield verdict;
    }
    if (others.length === 0) return;
    await again.pause();
    open = others;
  }
}

// oxlint-disable-next-line typescript/require-await -- the shape of an input
async function* wanted(users: readonly SentUser[]): AsyncGenerator<Wanted<SentUser>> {
  for (const origin of users) yield { identifier: origin.identifier!, origin };
}

const cannotBeFound = ({ records }: SentUser): Verdict => ({
  what: 'users',
  verdict: 'untold',
  count: 1,
  records,
  differences: [],
  untold: ['users of another key than identity or objectId'],
  foldedKeys: 0,
});

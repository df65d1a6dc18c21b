import { lookUp, type LookUpContext, type Wanted } from '../../bulk/profile-lookup.js';
import { checkEvents } from './check-sent.js';
import { compareAddress } from './compare-address.js';
import { compareUser } from './compare.js';
import { untold, type Verdict } from './verdict.js';
import { Again } from './again.js';
import type { Client } from '../../client/client.js';
import type { Connection, World } from '../job-context.js';
import type { SentInput } from './sent-input.js';
import type { Identifier } from '../../mapping/identity.js';

/** What checks need to ask the service. */
export interface Checking extends LookUpContext {
  readonly client: Client;
  readonly sent: SentInput;
  readonly world: World;
  readonly connection: Connection;
  /** Reads the events of the input once more. */
  readonly readAgain: () => Promise<void>;
  /** Milliseconds in which what differs is looked at again. */
  readonly within: number;
  readonly pendingTimeout: number | undefined;
  readonly concurrency: number;
}

const users = {
  what: 'users',
  unfindable: 'users of another key than identity or objectId',
  compare: compareUser,
  isOpen: ({ differences }: Verdict) => differences.length > 0,
} as const;

const addresses = {
  what: 'addresses',
  unfindable: 'numbers of rows without identity: users are not found by their number',
  compare: compareAddress,
  isOpen: ({ verdict }: Verdict) => verdict !== 'same',
} as const;

/** Everything that can be found out, and what cannot. */
export async function* checkAll(checking: Checking): AsyncGenerator<Verdict> {
  const { sent, readAgain } = checking;
  for (const { record, why } of sent.untold) yield untold('events', [record], why);
  yield* checkFound(sent.users.values(), users, checking);
  yield* checkFound(sent.addresses.values(), addresses, checking);
  yield* checkEvents(sent.events, checking);
  while (sent.events.turn()) {
    await readAgain();
    yield* checkEvents(sent.events, checking);
  }
}

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
async function* checkFound<T extends Sent>(
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

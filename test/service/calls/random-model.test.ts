import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isTerminal, type CallEvent } from '../../../src/calling/protocol.js';
import {
  initialTransition,
  transition,
  type CallState,
  type Side,
  type Transition,
  type Trigger,
} from '../../../src/service/calls/call-state.js';
import type { DeclineCode } from '../../../src/calling/protocol.js';
import type { Running } from '../running.js';
import { askRest, join, runRouter, type RawClient } from './raw-client.js';
import { until } from '../../support/until.js';

// Random commands on two clients. The model has one call between them, moved by the reducer alone, and
// says of each command what the router answers and what both sides are told.

const names = ['ann', 'bob'] as const;
type Name = (typeof names)[number];
const otherOf = (name: Name): Name => (name === 'ann' ? 'bob' : 'ann');

interface Party {
  loggedOut: boolean;
  connected: boolean;
  /** What it was told, on all its sockets. */
  readonly told: string[];
  /** What waits for it while it is away. */
  waiting: string[];
}

class Model {
  readonly parties: Record<Name, Party> = { ann: newParty(), bob: newParty() };
  #call: { state: CallState; readonly initiator: Name } | undefined;

  /** Returns the answer of the router. */
  run(who: Name, what: Command): string {
    switch (what.t) {
      case 'call':
        return this.#place(who);
      case 'answer':
      case 'decline':
        if (this.#call?.initiator === who) return 'BAD_REQUEST';
        return this.#apply(triggerOf(what)) ? 'ok' : 'ALREADY_COMPLETED';
      case 'ready':
        return this.#apply({ type: 'ready', by: this.#sideOf(who) }) ? 'ok' : 'ALREADY_COMPLETED';
      case 'hangup':
        this.#apply({ type: 'hangup', by: this.#sideOf(who) });
        return 'ok';
      case 'logout':
        this.parties[who].loggedOut = true;
        this.#apply({ type: 'logout', by: this.#sideOf(who) });
        return 'ok';
      case 'drop':
        this.parties[who].connected = false;
        return 'ok';
      case 'bye':
        this.parties[who].connected = false;
        this.#apply({ type: 'gone', by: this.#sideOf(who) });
        return 'ok';
      case 'back':
        this.#connect(who);
        return 'ok';
      case 'reborn':
        this.#beReborn(who);
        return 'ok';
      default:
        return what.t satisfies never;
    }
  }

  #place(who: Name): string {
    if (this.parties[who].loggedOut) return 'WRONG_ORDER';
    if (this.#call) return 'CALL_IN_PROGRESS';
    this.#call = { state: initialTransition.state, initiator: who };
    this.#tell(initialTransition);
    if (this.parties[otherOf(who)].loggedOut) this.#apply({ type: 'loggedOut' }, false);
    else this.#tellOne(otherOf(who), 'incoming');
    return 'ok';
  }

  #apply(trigger: Trigger, wasOffered = true): boolean {
    const call = this.#call;
    const next = call && transition(call.state, trigger);
    if (!next) return false;
    call.state = next.state;
    if (next.ending) {
      for (const name of names) {
        const { waiting } = this.parties[name];
        this.parties[name].waiting = waiting.filter((one) => one !== 'incoming');
      }
    }
    this.#tell(next);
    if (next.ending) {
      if (!next.receiver && wasOffered) this.#tellOne(otherOf(call.initiator), 'over');
      this.#call = undefined;
    }
    return true;
  }

  #tell({ initiator, receiver }: Transition): void {
    if (!this.#call) return;
    if (initiator) this.#tellOne(this.#call.initiator, initiator);
    if (receiver) this.#tellOne(otherOf(this.#call.initiator), receiver);
  }

  #tellOne(name: Name, what: string): void {
    const { connected, told, waiting } = this.parties[name];
    (connected ? told : waiting).push(what);
  }

  #connect(who: Name): void {
    const party = this.parties[who];
    party.connected = true;
    party.loggedOut = false;
    party.told.push(...party.waiting.splice(0));
  }

  #beReborn(who: Name): void {
    const call = this.#call;
    if (call && !(call.state.phase === 'placed' && call.initiator !== who)) {
      this.#apply({ type: 'gone', by: this.#sideOf(who) });
    } else if (call) {
      const { waiting } = this.parties[who];
      this.parties[who].waiting = [...waiting.filter((one) => one !== 'incoming'), 'incoming'];
    }
    this.#connect(who);
  }

  #sideOf = (who: Name): Side => (this.#call?.initiator === who ? 'initiator' : 'receiver');
}

const newParty = (): Party => ({ loggedOut: false, connected: true, told: [], waiting: [] });

function triggerOf(command: Command): Trigger {
  if (command.t === 'answer') return { type: 'answer' };
  const { code } = command;
  return code === undefined ? { type: 'decline' } : { type: 'decline', reasonCode: code };
}

interface Command {
  readonly t:
    | 'call'
    | 'answer'
    | 'decline'
    | 'ready'
    | 'hangup'
    | 'logout'
    | 'bye'
    | 'drop'
    | 'back'
    | 'reborn';
  readonly code?: DeclineCode | undefined;
}

/** The two clients, over as many sockets as it takes. */
class Pair {
  readonly told: Record<Name, string[]> = { ann: [], bob: [] };
  readonly #service: Running;
  readonly #run: number;
  #sockets: Record<Name, RawClient>;
  /** The newest call: what clients speak of. */
  #callId = 'none';

  private constructor(service: Running, run: number, sockets: Record<Name, RawClient>) {
    this.#service = service;
    this.#run = run;
    this.#sockets = sockets;
  }

  static async of(service: Running, run: number): Promise<Pair> {
    const [ann, bob] = await Promise.all(names.map((name) => join(service.url, `${name}_${run}`)));
    return new Pair(service, run, { ann: ann!, bob: bob! });
  }

  async run(who: Name, { t, code }: Command): Promise<string> {
    const socket = this.#sockets[who];
    if (t === 'drop' || t === 'bye') return this.#leave(who, t);
    if (t === 'back' || t === 'reborn') return this.#return(who, t);
    if (t === 'call') {
      const to = `${otherOf(who)}_${this.#run}`;
      const answer = await socket.ask('call', { to, context: 'x' });
      if (typeof answer !== 'object') return answer as string;
      this.#callId = (answer as { callId: string }).callId;
      return 'ok';
    }
    const frame = { callId: this.#callId, ...(code === undefined ? {} : { reasonCode: code }) };
    return (await socket.ask(t, frame)) as string;
  }

  async #leave(who: Name, t: 'drop' | 'bye'): Promise<string> {
    const socket = this.#sockets[who];
    await this.settled();
    socket.socket.send(JSON.stringify({ t: 'seen', seq: socket.lastSeq }));
    await socket.ask('probe', {});
    if (t === 'bye') await socket.ask('bye', {});
    else socket.socket.terminate();
    await socket.closed;
    this.told[who].push(...socket.events);
    if (t === 'drop') await this.#isAway(who);
    return 'ok';
  }

  /** Until the router has noticed, it sends into a socket that is broken. */
  async #isAway(who: Name): Promise<void> {
    for (let isConnected = true; isConnected;) {
      const { devices } = await askRest(this.#service, 'GET', '/call/v1/devices');
      const own = (devices as { cuid: string; state: string }[]).find(
        ({ cuid }) => cuid === `${who}_${this.#run}`,
      );
      isConnected = own?.state === 'connected';
    }
  }

  async #return(who: Name, t: 'back' | 'reborn'): Promise<string> {
    const { lastSeq } = this.#sockets[who];
    const life = t === 'reborn' ? {} : { lastSeq: Math.max(lastSeq, this.#has[who]) };
    this.#has[who] = Math.max(lastSeq, this.#has[who]);
    const url = this.#service.url;
    this.#sockets = { ...this.#sockets, [who]: await join(url, `${who}_${this.#run}`, life) };
    return 'ok';
  }

  readonly #has: Record<Name, number> = { ann: 0, bob: 0 };

  /** Everything that was sent has arrived. */
  async settled(): Promise<void> {
    const open = names
      .map((name) => this.#sockets[name])
      .filter(({ socket }) => socket.readyState === 1);
    for (const socket of open) await socket.ask('probe', {});
  }

  /** All that both were told. */
  async all(): Promise<Record<Name, string[]>> {
    await this.settled();
    const toldTo = (name: Name) => {
      const socket = this.#sockets[name];
      return socket.socket.readyState === 1
        ? [...this.told[name], ...socket.events]
        : this.told[name];
    };
    return { ann: toldTo('ann'), bob: toldTo('bob') };
  }

  close(): void {
    for (const name of names) this.#sockets[name].socket.terminate();
  }
}

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Command>({ t: 'call' }) },
  { weight: 4, arbitrary: fc.constant<Command>({ t: 'answer' }) },
  { weight: 4, arbitrary: fc.constant<Command>({ t: 'ready' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      t: fc.constant<'decline'>('decline'),
      code: fc.constantFrom<(DeclineCode | undefined)[]>(undefined, 1001, 1002, 1005, 1006),
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom<Command['t'][]>('hangup', 'logout', 'bye', 'drop', 'back', 'reborn')
      .map((t) => ({ t })),
  },
);

it('matches the reducer in answers and events, whatever two clients do', async () => {
  const service = await runRouter();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...names), command), { minLength: 4, maxLength: 30 }),
      async (commands) => {
        run += 1;
        const pair = await Pair.of(service, run);
        const model = new Model();
        for (const [who, what] of commands) {
          const isReturn = what.t === 'back' || what.t === 'reborn';
          if (model.parties[who].connected === isReturn) continue;
          expect([who, what.t, await pair.run(who, what)]).toEqual([
            who,
            what.t,
            model.run(who, what),
          ]);
        }
        const { ann, bob } = model.parties;
        expect(await pair.all()).toEqual({ ann: ann.told, bob: bob.told });
        pair.close();
      },
    ),
    { numRuns: 60 },
  );
});

/** The last event of a call on both sides. */
async function ends(a: RawClient, b: RawClient): Promise<(string | undefined)[]> {
  const last = (client: RawClient) =>
    client.events.findLast((event) => isTerminal(event as CallEvent) && event !== 'incoming');
  await until(() => last(a) !== undefined && last(b) !== undefined);
  return [last(a), last(b)];
}

it('lets one of two simultaneous calls through and refuses the other, 20 times', async () => {
  const service = await runRouter();
  for (let run = 0; run < 20; run += 1) {
    const [ann, bob] = await Promise.all([
      join(service.url, `ann_${run}`),
      join(service.url, `bob_${run}`),
    ]);
    const answers = await Promise.all([
      ann.ask('call', { to: `bob_${run}`, context: 'x' }),
      bob.ask('call', { to: `ann_${run}`, context: 'x' }),
    ]);
    const kinds = answers.map((answer) => (typeof answer === 'object' ? 'placed' : answer));
    expect(new Set(kinds)).toEqual(new Set(['CALL_IN_PROGRESS', 'placed']));
    await until(() => ann.frames.length + bob.frames.length === 2);
    const told = [ann, bob].map(({ events }) => events.join(' '));
    expect(new Set(told)).toEqual(new Set(['CallIsPlaced', 'incoming']));
  }
});

it('lets both sides agree when a call is answered and cancelled at once, 40 times', async () => {
  const service = await runRouter();
  const seen = new Set<string>();
  for (let run = 0; run < 40; run += 1) {
    const [ann, bob] = await Promise.all([
      join(service.url, `ann_${run}`),
      join(service.url, `bob_${run}`),
    ]);
    const callId = await ann.call(`bob_${run}`);
    const [cancel, answer] = [() => ann.ask('hangup', {}), () => bob.ask('answer', { callId })];
    const [, won] =
      run % 2
        ? await Promise.all([cancel(), answer()])
        : (await Promise.all([answer(), cancel()])).toReversed();
    const [a, b] = await ends(ann, bob);
    expect(a).toBe(b);
    expect(a).toBe(won === 'ok' ? 'Ended' : 'Cancelled');
    seen.add(String(a));
    expect(ann.events.slice(1)).toEqual(bob.events.slice(1));
  }
  expect(seen.size).toBeGreaterThan(0);
});

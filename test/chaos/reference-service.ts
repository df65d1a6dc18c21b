import { setImmediate as turn } from 'node:timers/promises';
import {
  answer,
  cut,
  hang,
  hangUp,
  html,
  reset,
  startFaultServer,
  throttle,
  type Exchange,
  type FaultServer,
  type Step,
} from '../support/servers/fault-server.js';
import type { Random } from './random.js';
import type { Scenario } from './random-upload.js';

/** A service that may fail in every way, and knows what it really did. */
export interface Truth extends AsyncDisposable {
  readonly server: FaultServer;
  /** Ids of the records in the order in which they were carried out. */
  readonly executed: readonly string[];
  /** Ids of the records that were turned down by themselves: they may be rejected. */
  readonly refused: ReadonlySet<string>;
  /** Requests that were still answered by a fault. */
  faultRate: number;
  /**
   * The client dies. What it has under way is carried out or not, as it comes; what arrives
   * while `dead` is true is lost.
   */
  die(): void;
  revive(): void;
  /** Called when a request was carried out, before it is answered. */
  worked: (() => void) | undefined;
}

type Answer = Readonly<Record<string, unknown>>;
/** What is done with a request: `work` carries it out and gives the honest answer. */
type Fault = (exchange: Exchange, work: () => Answer) => Promise<void> | void;

export async function startTruth({ records }: Scenario, random: Random): Promise<Truth> {
  const known = new Map(records.map((record) => [record.id, record]));
  const executed: string[] = [];
  const refused = new Set<string>();
  const onDeath = new Set<() => void>();
  const truth = { faultRate: 0, dead: false, worked: undefined as Truth['worked'] };

  const work = (ids: readonly string[], isDemerge: boolean): Answer => {
    const bad = (id: string) => known.get(id)?.fate === 'refused' && !isDemerge;
    for (const id of ids) {
      if (bad(id)) refused.add(id);
      else executed.push(id);
    }
    running.worked?.();
    if (isDemerge) return { status: 'success' };
    const unprocessed = ids.flatMap((id, index) => (bad(id) ? [entry(index, 515)] : []));
    const processed = ids.length - unprocessed.length;
    return { status: unprocessed.length === 0 ? 'success' : 'partial', processed, unprocessed };
  };

  const step: Step = async (exchange) => {
    if (truth.dead) return reset()(exchange);
    const fault = random.chance(truth.faultRate) ? pickFault(random) : honest;
    if (fault === resetUnread) return reset()(exchange);
    await exchange.read();
    const { ids, isDemerge } = sentIn(exchange.received.body);
    let done: Answer | undefined;
    const once = () => (done ??= work(ids, isDemerge));
    const poisoned = ids.some((id) => known.get(id)?.fate === 'poison');
    const die = () => {
      if (!poisoned && random.chance(0.5)) once();
      exchange.socket.destroy();
    };
    onDeath.add(die);
    exchange.response.once('close', () => onDeath.delete(die));
    for (let turns = random.below(4); turns > 0; turns -= 1) await turn();
    // A client that gave up could not tell this from its second try, nor keep the order.
    if (truth.dead || exchange.socket.destroyed) return reset()(exchange);
    if (poisoned || fault === malformed) {
      if (ids.length === 1) for (const id of ids) refused.add(id);
      const status = poisoned ? 413 : 400;
      return answer(status, { status: 'fail', error: 'Malformed', code: status })(exchange);
    }
    if (fault === refuseAll || fault === askAgain) for (const id of ids) refused.add(id);
    await fault(exchange, once);
  };

  const server = await startFaultServer(() => step);
  const running: Truth = Object.assign(truth, {
    server,
    executed,
    refused,
    die() {
      truth.dead = true;
      for (const die of onDeath) die();
    },
    revive() {
      truth.dead = false;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
  return running;
}

interface Sent {
  readonly profileData?: { readonly Id: string };
  readonly evtData?: { readonly Id: string };
  /** Of a subscription. */
  readonly value?: string;
}

/** The ids of the records in a request. */
function sentIn(body: Buffer): { readonly ids: readonly string[]; readonly isDemerge: boolean } {
  const { d, identities } = JSON.parse(body.toString()) as {
    readonly d?: readonly Sent[];
    readonly identities?: readonly string[];
  };
  const ids =
    identities ??
    d?.map(({ profileData, evtData, value }) => (profileData ?? evtData)?.Id ?? value ?? '');
  return { ids: ids ?? [], isDemerge: identities !== undefined };
}

const entry = (index: number, code: number) => ({
  status: 'fail',
  code,
  error: `No. Skipped record number : ${index + 1}`,
});

const before =
  (step: Step): Fault =>
  (exchange) =>
    step(exchange);
const afterwards =
  (step: Step): Fault =>
  (exchange, work) => {
    work();
    return step(exchange);
  };
const honest: Fault = (exchange, work) => answer(200, work())(exchange);
/** Carries the request out and lies about it. */
const lie =
  (change: (honest: Answer, processed: number) => Answer): Fault =>
  (exchange, work) => {
    const truth = work();
    const { processed = 0 } = truth as { processed?: number };
    return answer(200, change(truth, processed))(exchange);
  };

const fail = (code: number) => ({ status: 'fail', error: 'An unknown error occurred', code });
const text = JSON.stringify({ status: 'success', processed: 3, unprocessed: [] });
const resetUnread: Fault = before(reset());
const malformed: Fault = before(reset());
const refuseAll: Fault = before(answer(200, { status: 'fail', processed: 0, unprocessed: [] }));
/** Code 555 for every record: nothing was carried out. */
const askAgain: Fault = (exchange) => {
  const { ids } = sentIn(exchange.received.body);
  const unprocessed = ids.map((_, index) => entry(index, 555));
  return answer(200, { status: 'fail', processed: 0, unprocessed })(exchange);
};
const hangs: readonly [Fault, ...Fault[]] = [before(hang()), afterwards(hang())];

const faults: readonly [Fault, ...Fault[]] = [
  resetUnread,
  before(reset()),
  afterwards(reset()),
  before(hangUp()),
  afterwards(hangUp()),
  before(answer(503, fail(503))),
  afterwards(answer(503, fail(503))),
  afterwards(answer(500)),
  before(answer(408, fail(408))),
  afterwards(answer(200, fail(500))),
  before(html()),
  afterwards(html()),
  afterwards(answer(200)),
  afterwards(cut(text, 20, 'length')),
  afterwards(cut(text, 20, 'chunked')),
  afterwards(cut(text, 20, 'close')),
  afterwards(answer(200, '[]')),
  before(throttle()),
  before(throttle('0')),
  before(throttle('1')),
  before(throttle('-3')),
  before(throttle('soon')),
  before(throttle('Sat, 21 Nov 2026 05:00:00 GMT', { Date: 'Sat, 21 Nov 2026 04:59:30 GMT' })),
  before(throttle('99999999999999')),
  before(answer(200, fail(429))),
  malformed,
  malformed,
  refuseAll,
  lie((honest, processed) => ({ ...honest, processed: processed + 1 })),
  lie((honest, processed) => ({ ...honest, processed: processed - 1 })),
  lie(({ unprocessed = [], ...honest }) => ({
    ...honest,
    unprocessed: [...(unprocessed as object[]), entry(0, 515)],
  })),
  lie((honest, processed) => ({
    ...honest,
    processed: processed - 1,
    unprocessed: [entry(98, 515)],
  })),
  askAgain,
];
/** These end a part of the run. */
const stops: readonly [Fault, ...Fault[]] = [
  before(answer(401, fail(401))),
  before(answer(403, fail(403))),
  before(answer(404)),
  before(answer(302, '', { Location: 'http://127.0.0.1:1/' })),
];

function pickFault(random: Random): Fault {
  const dice = random.next();
  if (dice < 0.01) return random.pick(hangs);
  return random.pick(dice < 0.04 ? stops : faults);
}

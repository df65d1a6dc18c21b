import { gzipSync } from 'node:zlib';
import type { Random } from './random.js';

/** One record of an input, and what the service thinks of it. */
export interface InputRecord {
  /** Travels in the record, so that the service's log can name it. Of a demerge, the identity. */
  readonly id: string;
  readonly source: string;
  /** Physical line, 1-based. */
  readonly line: number;
  /** Records of one key have an order; those without one have none. */
  readonly key: string | undefined;
  /** Must not be carried out twice. */
  readonly once: boolean;
  /** `refused`: alone, by its number; `poison`: with its whole request; `unreadable`: before it is sent. */
  readonly fate: 'taken' | 'refused' | 'poison' | 'unreadable';
}

/** A command line, its files, and all their records in order. */
export interface Scenario {
  readonly argv: readonly string[];
  readonly files: ReadonlyMap<string, Buffer>;
  /** What its producer writes, every time it is run. */
  readonly stdin?: Buffer;
  readonly records: readonly InputRecord[];
}

export type ScenarioKind =
  'profiles' | 'events' | 'mixed' | 'demerge' | 'subscribe' | 'changed' | 'piped';

/** Random input of some `size` records: few identities, so that keys repeat; some that are no good. */
export function scenarioOf(kind: ScenarioKind, size: number, random: Random): Scenario {
  const draft = new Draft(random, size);
  if (kind === 'profiles') {
    draft.csv('a.csv', size >> 1);
    draft.ndjson('b.ndjson', size >> 2, ['profile']);
    draft.csv('c.csv.gz', size >> 2);
    return draft.done(['upload']);
  }
  if (kind === 'mixed') {
    draft.ndjson('m.ndjson', size >> 1, ['profile', 'event', 'operator']);
    draft.ndjson('n.ndjson.gz', size >> 1, ['profile', 'event', 'operator']);
    return draft.done(['upload']);
  }
  if (kind === 'events') {
    draft.events('e.csv', size);
    return draft.done(['upload', '--type', 'event', '--event-name', 'Visit']);
  }
  if (kind === 'subscribe') {
    draft.subscriptions('s.csv', size);
    return draft.done(['subscribe', '--type', 'email']);
  }
  if (kind === 'changed') {
    draft.changes('c.csv', size);
    return draft.done(['upload', '--changed']);
  }
  if (kind === 'piped') {
    draft.ndjson('stdin', size, ['profile', 'event', 'operator']);
    return draft.piped(['upload', '-', '--run-name', 'crm']);
  }
  draft.identities('ids.csv', size);
  return draft.done(['demerge', '--yes']);
}

class Draft {
  readonly #random: Random;
  readonly #identities: number;
  readonly #files = new Map<string, Buffer>();
  readonly #records: InputRecord[] = [];

  constructor(random: Random, size: number) {
    this.#random = random;
    this.#identities = 1 + random.below(size);
  }

  /** Profiles, some with quoted line ends, some rows with a cell too many. */
  csv(name: string, count: number): void {
    this.#write(name, 'identity,Id,Note\r\n', count, (add) => {
      const identity = this.#identity();
      const { id, fate } = add({ key: identity, once: false });
      const note = this.#random.pick(['plain', '"two\nlines"', '"a ""b"", \r\nü"', '']);
      return `${identity},${id},${note}${fate === 'unreadable' ? ',one too many' : ''}\r\n`;
    });
  }

  /** Profiles without anything to escape, so that each can be written down once more. */
  changes(name: string, count: number): void {
    this.#write(name, 'identity,Id\n', count, (add) => {
      const identity = this.#identity();
      const { id, fate } = add({ key: identity, once: false });
      return `${identity},${id}${fate === 'unreadable' ? ',one too many' : ''}\n`;
    });
  }

  events(name: string, count: number): void {
    this.#write(name, 'identity,ts,Id\n', count, (add) => {
      const { id, fate } = add({ key: undefined, once: true });
      return `${this.#identity()},${fate === 'unreadable' ? 'never' : '1700000000'},${id}\n`;
    });
  }

  /** Addresses, each of them once. */
  subscriptions(name: string, count: number): void {
    this.#write(name, 'value,status\n', count, (add) => {
      const { id, fate } = add({ key: undefined, once: false });
      return `${id},${fate === 'unreadable' ? 'Maybe' : 'Unsubscribe'}\n`;
    });
  }

  ndjson(
    name: string,
    count: number,
    kinds: readonly ['profile', ...('profile' | 'event' | 'operator')[]],
  ): void {
    this.#write(name, '', count, (add) => {
      const identity = this.#identity();
      const kind = this.#random.pick(kinds);
      const key = kind === 'event' ? undefined : identity;
      const { id, fate } = add({ key, once: kind !== 'profile' });
      const record = {
        profile: { identity, type: 'profile', profileData: { Id: id } },
        operator: { identity, type: 'profile', profileData: { Id: id, Visits: { $incr: 1 } } },
        event: { identity, type: 'event', evtName: 'Visit', ts: 1700000000, evtData: { Id: id } },
      }[kind];
      return `${JSON.stringify(record)}${fate === 'unreadable' ? ',' : ''}\n`;
    });
  }

  /** Identities to demerge, some of them twice. */
  identities(name: string, count: number): void {
    this.#write(name, 'identity\n', count, (add) => {
      const earlier = this.#records[this.#random.below(8 * count)];
      if (earlier && earlier.fate !== 'unreadable') {
        add({ key: undefined, once: true }, earlier);
        return `${earlier.id}\n`;
      }
      const { id, fate } = add({ key: undefined, once: true });
      return fate === 'unreadable' ? `"${id}"x\n` : `${id}\n`;
    });
  }

  done(argv: readonly [command: string, ...flags: string[]]): Scenario {
    const [command, ...flags] = argv;
    return {
      argv: [command, ...this.#files.keys(), ...flags],
      files: this.#files,
      records: this.#records,
    };
  }

  /** The one file that was drafted is what comes through a pipe. */
  piped(argv: readonly string[]): Scenario {
    const [stdin = Buffer.of()] = this.#files.values();
    return { argv, files: new Map(), stdin, records: this.#records };
  }

  #write(
    name: string,
    head: string,
    count: number,
    rowOf: (
      add: (what: Pick<InputRecord, 'key' | 'once'>, like?: InputRecord) => InputRecord,
    ) => string,
  ): void {
    let text = head;
    for (let n = 0; n < count; n += 1) {
      const line = 1 + (text.match(/\r\n|\n/g)?.length ?? 0);
      text += rowOf((what, like) => {
        const id = like?.id ?? `r${this.#records.length}`;
        const record = { id, source: name, line, ...what, fate: like?.fate ?? this.#fate() };
        this.#records.push(record);
        return record;
      });
    }
    this.#files.set(name, name.endsWith('.gz') ? gzipSync(text) : Buffer.from(text));
  }

  #identity(): string {
    return `user-${this.#random.below(this.#identities)}`;
  }

  #fate(): InputRecord['fate'] {
    const dice = this.#random.next();
    if (dice < 0.03) return 'unreadable';
    if (dice < 0.06) return 'refused';
    return dice < 0.07 ? 'poison' : 'taken';
  }
}

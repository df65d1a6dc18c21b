import { Inbox, type StoredInbox, type UnnumberedFrame } from './inbox.js';
import type { CallState, Ending } from './call-state.js';
import type { CallDetails, Caps, MissedCallActions, Platform } from '../../calling/protocol.js';
import type { Database } from '../store/database.js';
import type { TurnTransaction } from './turn-transaction.js';

/** The device on which a cuid last registered, as it described itself. */
export interface Device {
  readonly deviceId: string;
  readonly platform: Platform;
  readonly caps: Caps;
  readonly missedCallActions: MissedCallActions;
}

/** A cuid that has registered. */
export interface RegisteredUser {
  readonly cuid: string;
  device: Device;
  loggedOut: boolean;
  /** Milliseconds since 1970 of its last `auth`. */
  registeredAt: number;
  readonly inbox: Inbox;
  /** Its socket, while it has one. */
  session?: Session | undefined;
  /** The call it places, is offered, or is in. */
  call?: Call | undefined;
  /** Ends the wait for its return. */
  cancelGone?: () => void;
}

/** A client's socket, as the router sees it. */
export interface Session {
  readonly id: string;
  /** Undefined until `auth` was accepted, and again when the socket was taken from the user. */
  user: RegisteredUser | undefined;
  /** The random numbers of its `hello`: undefined before it. */
  nonces: { readonly client: string; readonly router: string } | undefined;
  /** One frame. What the socket cannot take any more is lost with it. */
  send(text: string): void;
  /** Lets what was sent arrive first. */
  close(code: number, reason: string): void;
}

/** A call and how far it has come. Times in milliseconds since 1970. */
export interface Call {
  readonly id: string;
  readonly initiator: RegisteredUser;
  readonly receiver: RegisteredUser;
  details: CallDetails;
  state: CallState;
  readonly placedAt: number;
  answeredAt?: number | undefined;
  inProgressAt?: number | undefined;
  endedAt?: number | undefined;
  ending?: Ending | undefined;
  /** Buttons of the receiver's missed-call notification. */
  actions?: MissedCallActions | undefined;
  /** Stops the time that runs for its present state. */
  cancelAlarm?: () => void;
}

/** Who has registered. In memory are those who are connected or in a call; the store knows all. */
export class UserDirectory {
  readonly #store: Database;
  readonly #turn: TurnTransaction;
  readonly #now: () => number;
  readonly #users = new Map<string, RegisteredUser>();

  constructor(store: Database, turn: TurnTransaction, now: () => number) {
    this.#store = store;
    this.#turn = turn;
    this.#now = now;
  }

  find(cuid: string): RegisteredUser | undefined {
    const known = this.#users.get(cuid) ?? this.#load(cuid);
    if (known) this.#users.set(cuid, known);
    return known;
  }

  register(cuid: string, device: Device): RegisteredUser {
    const user = this.find(cuid) ?? newUser(cuid, device, new Inbox());
    this.#users.set(cuid, user);
    user.device = device;
    user.loggedOut = false;
    user.registeredAt = this.#now();
    this.save(user);
    return user;
  }

  /** Stores the user at the end of the turn, and forgets who has neither socket nor call. */
  save(user: RegisteredUser): void {
    this.#turn.save(user, () => this.#write(user));
  }

  /** Puts a frame into the user's inbox, and onto its socket. */
  deliver(user: RegisteredUser, letter: UnnumberedFrame): void {
    const { session } = user;
    const text = user.inbox.post(letter, this.#now());
    if (session) this.#turn.send(() => session.send(text));
    this.save(user);
  }

  waitingFor = (user: RegisteredUser): string[] => user.inbox.waiting(this.#now());

  saveAll(): void {
    for (const user of this.#users.values()) this.save(user);
  }

  /** All that ever registered, in order of their cuids. */
  *all(): Generator<RegisteredUser> {
    const rows = this.#store.all<{ cuid: string }>('SELECT cuid FROM call_users ORDER BY cuid', []);
    for (const { cuid } of rows) {
      const user = this.#users.get(cuid) ?? this.#load(cuid);
      if (user) yield user;
    }
  }

  #load(cuid: string): RegisteredUser | undefined {
    const row = this.#store.get<Row>('SELECT * FROM call_users WHERE cuid = ?', [cuid]);
    if (!row) return undefined;
    const inbox = new Inbox(JSON.parse(row.inbox) as StoredInbox);
    const user = newUser(cuid, JSON.parse(row.device) as Device, inbox);
    user.loggedOut = row.logged_out === 1;
    user.registeredAt = row.registered_at;
    return user;
  }

  #write(user: RegisteredUser): void {
    const { cuid, device, loggedOut, registeredAt, inbox } = user;
    this.#store.run('INSERT OR REPLACE INTO call_users VALUES (?, ?, ?, ?, ?)', [
      cuid,
      JSON.stringify(device),
      loggedOut ? 1 : 0,
      registeredAt,
      JSON.stringify(inbox),
    ]);
    if (!user.session && !user.call) this.#users.delete(cuid);
  }
}

interface Row {
  readonly device: string;
  readonly logged_out: number;
  readonly registered_at: number;
  readonly inbox: string;
}

const newUser = (cuid: string, device: Device, inbox: Inbox): RegisteredUser => ({
  cuid,
  device,
  inbox,
  loggedOut: false,
  registeredAt: 0,
});

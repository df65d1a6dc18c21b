import type { CallState, Ending } from './call-state.js';
import type {
  CallDetails,
  Caps,
  MissedCallActions,
  Platform,
  RouterFrame,
  RouterFrames,
} from '../../calling/protocol.js';
import type { Database } from '../store/database.js';
import type { TurnTransaction } from './turn-transaction.js';

/** Device on which a cuid last registered, as reported by the client. */
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
  /** Time of its last `auth` in epoch milliseconds. */
  registeredAt: number;
  readonly inbox: Inbox;
  /** Its socket, while connected. */
  session?: Session | undefined;
  /** Its current call, as initiator or receiver. */
  call?: Call | undefined;
  /** Cancels the grace period of a disconnect. */
  cancelGraceTimer?: () => void;
}

/** Socket of a client. */
export interface Session {
  readonly id: string;
  /** Undefined before `auth` and after another socket replaced this one. */
  user: RegisteredUser | undefined;
  /** Nonces of its `hello`; undefined before it. */
  nonces: { readonly client: string; readonly router: string } | undefined;
  /** Sends a frame. */
  send(text: string): void;
  /** Closes the socket after pending frames were sent. */
  close(code: number, reason: string): void;
  /** Ends the connection without a closing handshake. */
  drop(): void;
}

/** A call and its state. Times are epoch milliseconds. */
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
  /** Whether a test decides what its receiver does; the receiver's device is not notified. */
  isScripted?: boolean;
  /** Cancels the timeout of the current state. */
  cancelTimer?: () => void;
}

/** Registered users. Only those that are connected or in a call are kept in memory; all are in the store. */
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
    const user = this.#users.get(cuid) ?? this.#load(cuid);
    if (user) this.#users.set(cuid, user);
    return user;
  }

  /** Adds a user without a device, who receives calls only as a test scripts them. */
  add(cuid: string): RegisteredUser {
    const device = {
      deviceId: 'scripted',
      platform: 'android',
      caps: {},
      missedCallActions: {},
    } as const;
    const user = newUser(cuid, device, new Inbox());
    this.#users.set(cuid, user);
    return user;
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

  /** Stores a user at the end of the turn; drops it from memory if it has neither socket nor call. */
  save(user: RegisteredUser): void {
    this.#turn.save(user, () => this.#write(user));
  }

  /** Adds a frame to the user's inbox and sends it if the user is connected. */
  deliver(user: RegisteredUser, frame: UnnumberedFrame): void {
    const { session } = user;
    const text = user.inbox.add(frame, this.#now());
    if (session) this.#turn.send(() => session.send(text));
    this.save(user);
  }

  waitingFor = (user: RegisteredUser): string[] => user.inbox.waiting(this.#now());

  saveAll(): void {
    for (const user of this.#users.values()) this.save(user);
  }

  /** Yields all registered users, ordered by cuid. */
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

const maxFrames = 100;
/** Maximum characters of all frames together, since a client may send any number of media descriptions. */
const maxCharacters = 256 * 1024;
const maxAgeMs = 24 * 3_600_000;

/** A frame and its text. `at` is in epoch milliseconds. */
interface Waiting {
  readonly at: number;
  readonly frame: RouterFrame;
  readonly text: string;
}

/** Stored form of an inbox. */
interface StoredInbox {
  readonly seq: number;
  readonly frames: readonly (readonly [at: number, text: string])[];
}

/** Frame of the router without its sequence number. */
type UnnumberedFrame = {
  [T in keyof RouterFrames]: { readonly t: T } & RouterFrames[T];
}[keyof RouterFrames];

/**
 * Unacknowledged frames of a cuid, which are resent on its next socket: at most 100, for at most a day.
 * Sequence numbers only increase.
 */
export class Inbox {
  #seq: number;
  #frames: Waiting[];
  #length = 0;

  constructor({ seq, frames }: StoredInbox = { seq: 0, frames: [] }) {
    this.#seq = seq;
    this.#frames = frames.map(([at, text]) => ({
      at,
      text,
      frame: JSON.parse(text) as RouterFrame,
    }));
    this.#length = this.#frames.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** Sequence number of the newest frame. */
  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#frames.length;
  }

  /** Adds a frame and returns its text. A full inbox drops media descriptions first, then the oldest frames. */
  add(unnumbered: UnnumberedFrame, now: number): string {
    const frame: RouterFrame = { ...unnumbered, seq: ++this.#seq };
    const text = JSON.stringify(frame);
    this.#frames.push({ at: now, frame, text });
    this.#length += text.length;
    while (this.#frames.length > maxFrames || this.#length > maxCharacters) {
      const media = this.#frames.findIndex(({ frame: { t } }) => t === 'sdp');
      const [gone] = this.#frames.splice(Math.max(media, 0), 1);
      this.#length -= gone?.text.length ?? 0;
    }
    return text;
  }

  /** Drops the frames up to a sequence number, which the client has received. */
  acknowledge(seq: number): void {
    this.#keep(({ frame }) => frame.seq > seq);
  }

  /** Drops the offer and the media descriptions of a call that has ended. */
  forgetCall(callId: string): void {
    this.#keep(
      ({ frame }) => frame.callId !== callId || (frame.t !== 'incoming' && frame.t !== 'sdp'),
    );
  }

  /** Returns the texts of the waiting frames. */
  waiting(now: number): string[] {
    this.#keep(({ at }) => now - at < maxAgeMs);
    return this.#frames.map(({ text }) => text);
  }

  toJSON(): StoredInbox {
    return { seq: this.#seq, frames: this.#frames.map(({ at, text }) => [at, text]) };
  }

  #keep(isKept: (waiting: Waiting) => boolean): void {
    this.#frames = this.#frames.filter(isKept);
    this.#length = this.#frames.reduce((sum, { text }) => sum + text.length, 0);
  }
}

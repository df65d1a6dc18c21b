/** What an upload record names a user by; FBID and GPID are the kinds that nothing looks up. */
export interface Keys {
  readonly identity?: string | undefined;
  readonly objectId?: string | undefined;
  readonly FBID?: string | undefined;
  readonly GPID?: string | undefined;
}

export type Fields = Readonly<Record<string, string | number | undefined>>;

export interface User {
  /** `kind value`, in the order in which it got them. */
  keys: string[];
  fields: Fields;
  /** Seconds since 1970 of the newest upload; of one without a time, Infinity. */
  ts: number;
  /** Their times, which are also their only properties. */
  events: number[];
}

/** Users as the specification has them, by the simplest means; the oldest first. */
export class UserModel {
  users: User[] = [];

  setFields(keys: Keys, fields: Fields, ts = Infinity): void {
    const user = this.#named(keys);
    const isOlder = ts < user.ts;
    user.fields = isOlder ? { ...fields, ...user.fields } : { ...user.fields, ...fields };
    user.ts = Math.max(ts, user.ts);
  }

  perform(keys: Keys, ts: number): void {
    this.#named(keys).events.push(ts);
  }

  find(kind: keyof Keys, value: string): User | undefined {
    return this.users.find(({ keys }) => keys.includes(`${kind} ${value}`));
  }

  demerge(identity: string): void {
    const user = this.find('identity', identity);
    if (!user) return;
    const [first, ...leaving] = ['identity', 'objectId'].flatMap((kind) => keysOf(user, kind));
    user.keys = user.keys.filter((key) => key === first || /^(FBID|GPID) /.test(key));
    const { fields, ts } = user;
    for (const key of leaving) this.users.push({ keys: [key], fields, ts, events: [] });
  }

  /** The user of these keys, made of all whom they name. */
  #named(names: Keys): User {
    const keys = Object.entries(names).map(([kind, value]) => `${kind} ${value}`);
    const [user = this.#added(), ...others] = this.users.filter((one) =>
      one.keys.some((key) => keys.includes(key)),
    );
    this.users = this.users.filter((one) => !others.includes(one));
    for (const other of others) {
      user.fields = { ...other.fields, ...user.fields };
      user.ts = Math.max(user.ts, other.ts);
      user.events.push(...other.events);
    }
    user.keys = [...new Set([...user.keys, ...others.flatMap((other) => other.keys), ...keys])];
    return user;
  }

  #added(): User {
    const user = { keys: [], fields: {}, ts: 0, events: [] };
    this.users.push(user);
    return user;
  }
}

const keysOf = ({ keys }: User, kind: string): string[] =>
  keys.filter((key) => key.startsWith(`${kind} `));

/** The values of its keys of a kind. */
export const valuesOf = (user: User, kind: 'identity' | 'objectId'): string[] =>
  keysOf(user, kind).map((key) => key.slice(kind.length + 1));

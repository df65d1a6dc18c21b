import { isList, isMap, parseExact, type ExactJson } from '../../text/lossless-json.js';
import { folded } from './sent.js';

type Members = ReadonlyMap<string, ExactJson>;

/** A value of a profile that was read, under whatever spelling of its key. */
export interface FoundValue {
  readonly value: ExactJson;
  readonly isFolded: boolean;
}

/** Default fields that a profile shows beside profileData. */
const besides: Readonly<Record<string, string>> = { Email: 'email', Name: 'name', Phone: 'phone' };

/** A user profile object of endpoint 5. */
export class FoundUser {
  readonly #profile: Members;
  readonly #data: Members;
  readonly #folded = new Map<string, ExactJson[]>();

  /** `record`: its JSON text. */
  constructor(record: string) {
    this.#profile = membersIn(parseExact(record));
    this.#data = membersIn(this.#profile.get('profileData'));
    for (const [key, value] of this.#data) {
      this.#folded.set(folded(key), [...(this.#folded.get(folded(key)) ?? []), value]);
    }
  }

  /** The values that may be meant by a key of an upload, the likeliest first. */
  valuesOf(key: string): readonly FoundValue[] {
    const exact = this.#data.get(key);
    if (exact !== undefined) return [{ value: exact, isFolded: false }];
    const others = (this.#folded.get(folded(key)) ?? []).map((value) => ({
      value,
      isFolded: true,
    }));
    return others.length > 0 ? others : this.#besides(key);
  }

  #besides(key: string): FoundValue[] {
    const name = besides[key];
    if (name === undefined) return [];
    const devices = this.#profile.get('platformInfo');
    const places = [this.#profile, ...(isList(devices) ? devices.map(membersIn) : [])];
    const values = places.map((place) => place.get(name));
    return values.flatMap((value) =>
      value === undefined || value === null ? [] : [{ value, isFolded: false }],
    );
  }
}

const membersIn = (value: ExactJson | undefined): Members =>
  isMap(value) ? value : new Map<string, ExactJson>();

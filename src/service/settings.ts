/** Settings of the simulation, which a test can change while the service runs (contract §10). */
export interface ServiceSettings {
  /** Delay of every response after the request was processed. */
  readonly latencyMs: number;
  /** Polls answered by code 2 before a new cursor is ready. */
  readonly pendingPolls: number;
  /** Fraction of requests answered with 500 or 503, half of them after they were processed. */
  readonly failRate: number;
  /** Selects the requests that fail: the same seed fails the same requests again. */
  readonly failSeed?: number | undefined;
  /** Maximum requests in flight; more get 429. */
  readonly maxConcurrent: { readonly upload: number; readonly other: number };
  readonly variants: Variants;
  /** Reject what the specification does not allow but deployments may tolerate. */
  readonly strict: boolean;
}

/** Changes of settings; of `variants` and `maxConcurrent`, only the given members change. */
export type SettingsChanges = Partial<
  Omit<ServiceSettings, 'variants' | 'maxConcurrent'> & {
    readonly variants: Partial<Variants>;
    readonly maxConcurrent: Partial<ServiceSettings['maxConcurrent']>;
  }
>;

/** Settings of the start; missing variants have their defaults. */
interface InitialSettings extends Omit<ServiceSettings, 'variants' | 'strict'> {
  readonly variants: Partial<Variants>;
  readonly strict?: boolean | undefined;
  /** Selects the requests that fail if there is no seed. */
  readonly random: () => number;
}

/** The current settings, and those of the start. */
export class Settings {
  readonly #initial: ServiceSettings;
  readonly #random: () => number;
  #values: ServiceSettings;
  #drawFailure: () => number;

  constructor(options: InitialSettings) {
    const { latencyMs, pendingPolls, failRate, failSeed, maxConcurrent, strict = false } = options;
    const variants = { ...defaultVariants, ...options.variants };
    const rates = { latencyMs, pendingPolls, failRate, failSeed, maxConcurrent };
    this.#initial = this.#values = { ...rates, variants, strict };
    this.#random = options.random;
    this.#drawFailure = this.#generator();
  }

  get values(): ServiceSettings {
    return this.#values;
  }

  /** Changes the given settings; returns all of them. */
  change(changes: SettingsChanges): ServiceSettings {
    const { variants, maxConcurrent } = this.#values;
    this.#values = {
      ...this.#values,
      ...changes,
      variants: { ...variants, ...changes.variants },
      maxConcurrent: { ...maxConcurrent, ...changes.maxConcurrent },
    };
    if ('failSeed' in changes || 'failRate' in changes) this.#drawFailure = this.#generator();
    return this.#values;
  }

  /** Returns to the settings of the start. */
  reset(): void {
    this.#values = this.#initial;
    this.#drawFailure = this.#generator();
  }

  /** Returns a number in [0, 1) that decides about a failure. */
  drawFailure(): number {
    return this.#drawFailure();
  }

  #generator(): () => number {
    const { failSeed } = this.#values;
    return failSeed === undefined ? this.#random : mulberry32(failSeed);
  }
}

/** A pseudorandom generator with 32 bits of state. */
function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Values of each variant; the first is the default. */
export const variantValues: { readonly [Name in keyof Variants]: readonly Variants[Name][] } = {
  keyStyle: ['verbatim', 'folded'],
  flags: ['recorded', 'specification'],
  nextCursor: ['after', 'before'],
  status: ['first', 'last'],
  expiredCursor: ['code', 'text', 'stringCode'],
  echo: ['recorded', 'intact', 'changed'],
  recordNumber: ['spaced', 'tight'],
  olderProfile: ['fills', 'overwrites'],
  whitespace: ['tight', 'spaced'],
  connection: ['keep', 'close'],
};

export const defaultVariants = Object.fromEntries(
  Object.entries(variantValues).map(([name, [value]]) => [name, value]),
) as unknown as Variants;

/** Behaviors in which deployments differ (service-facts, Open questions). */
export interface Variants {
  /** Keys of returned profileData: as uploaded, or in lower case without spaces. */
  readonly keyStyle: 'verbatim' | 'folded';
  /** Spelling of flags: `MSG-whatsapp` and `MSG-dndWhatsApp`, as recorded, or `MSG-Whatsapp` and `MSG-dndWhatsapp`. */
  readonly flags: 'recorded' | 'specification';
  /** Position of `next_cursor` in a page, relative to `records`. */
  readonly nextCursor: 'before' | 'after';
  /** Position of `status` in every response. */
  readonly status: 'first' | 'last';
  /** Response to an expired cursor: code 3, the text `invalid cursor` without a code, or the code as a string. */
  readonly expiredCursor: 'code' | 'text' | 'stringCode';
  /**
   * The record echoed in `unprocessed`: altered for codes 517 to 520 only, as recorded; always as sent; or
   * always with phone numbers as numbers and keys in another order.
   */
  readonly echo: 'recorded' | 'intact' | 'changed';
  /** Spelling of the record number: `Skipped record number : 2`, or without the first blank. */
  readonly recordNumber: 'spaced' | 'tight';
  /** Effect of a profile record whose `ts` is older than the profile: fills gaps only, or overwrites. */
  readonly olderProfile: 'fills' | 'overwrites';
  /** Whitespace around `:` and `,` in every response. */
  readonly whitespace: 'tight' | 'spaced';
  /** Whether connections are kept open after a response. */
  readonly connection: 'keep' | 'close';
}

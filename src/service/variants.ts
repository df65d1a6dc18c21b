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

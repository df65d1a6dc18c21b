export const defaultVariants: Variants = {
  keyStyle: 'verbatim',
  nextCursor: 'after',
  status: 'first',
  expiredCursor: 'code',
  echo: 'recorded',
  recordNumber: 'spaced',
  olderProfile: 'fills',
  whitespace: 'tight',
  connection: 'keep',
};

/** Behaviors in which deployments differ (service-facts, Open questions). */
export interface Variants {
  /** Keys of returned profileData: as uploaded, or in lower case without spaces. */
  readonly keyStyle: 'verbatim' | 'folded';
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

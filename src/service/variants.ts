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

/** How the local service plays what real deployments leave open (service-facts, Open questions). */
export interface Variants {
  /** Keys of returned profileData: as uploaded, or lower case without spaces. */
  readonly keyStyle: 'verbatim' | 'folded';
  /** Place of `next_cursor` in a page, relative to `records`. */
  readonly nextCursor: 'before' | 'after';
  /** Place of `status` in every answer. */
  readonly status: 'first' | 'last';
  /** Answer to an expired cursor: code 3, the text `invalid cursor` without a code, or the code as text. */
  readonly expiredCursor: 'code' | 'text' | 'stringCode';
  /**
   * The record echoed in `unprocessed`: altered for codes 517 to 520 alone, as it was seen; always as sent; or
   * always with phone numbers as numbers and keys in another order.
   */
  readonly echo: 'recorded' | 'intact' | 'changed';
  /** How its text ends: `Skipped record number : 2`, or without the first blank. */
  readonly recordNumber: 'spaced' | 'tight';
  /** A profile record whose `ts` is older than the profile: fills its gaps, or overwrites like any other. */
  readonly olderProfile: 'fills' | 'overwrites';
  /** Whitespace around `:` and `,` of every answer. */
  readonly whitespace: 'tight' | 'spaced';
  /** Whether connections outlive an answer. */
  readonly connection: 'keep' | 'close';
}

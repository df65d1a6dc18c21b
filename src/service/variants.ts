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
  /** The record echoed in `unprocessed`: as sent, or with phone numbers as numbers and keys in another order. */
  readonly echo: 'intact' | 'changed';
  /** Whitespace around `:` and `,` of every answer. */
  readonly whitespace: 'tight' | 'spaced';
  /** Whether connections outlive an answer. */
  readonly connection: 'keep' | 'close';
}

export const defaultVariants: Variants = {
  keyStyle: 'verbatim',
  nextCursor: 'after',
  status: 'first',
  expiredCursor: 'code',
  echo: 'intact',
  whitespace: 'tight',
  connection: 'keep',
};

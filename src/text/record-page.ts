/**
 * The records of one page as byte ranges of the page's own buffer. A writer may overwrite
 * that buffer until its promise settles; the owner uses it again only after that.
 */
export interface RecordPage {
  readonly bytes: Buffer;
  /** Record i, a complete JSON object, is `bytes[bounds[2i], bounds[2i+1])`; ascending. */
  readonly bounds: Int32Array;
  readonly count: number;
}

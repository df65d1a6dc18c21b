/** One of several processes that share the records of an input. */
export interface Shard {
  /** From 1 on. */
  readonly index: number;
  readonly count: number;
}

/** Records that do harm when sent twice; `other` are demerges, and profiles with operators. */
export type NonIdempotentKind = 'event' | 'other';

/** How records ended; one that was not sent is not settled. */
export type CommittedCounts = ReturnType<typeof zeroCommitted>;

export const zeroCommitted = () => ({
  accepted: 0,
  rejected: 0,
  unknown: 0,
  duplicates: 0,
  /** The account accepted them as they are in an earlier run: they were not sent. */
  unchanged: 0,
});

/** Every record read is counted in exactly one of the others, `read` aside. */
export interface OutcomeCounts extends CommittedCounts {
  read: number;
  notSent: number;
  /** Accepted by an earlier part of the same run. */
  resumed: number;
  /** Of a shard: what other shards account for. They are not among those read. */
  otherShards?: number;
}

/** In the order in which a summary shows them. */
export const zeroCounts = (): OutcomeCounts => ({
  read: 0,
  accepted: 0,
  rejected: 0,
  unknown: 0,
  notSent: 0,
  resumed: 0,
  duplicates: 0,
  unchanged: 0,
});

/** Throws when a record is missing or was counted twice: that would be a defect of ours. */
export function assertBalanced(counts: OutcomeCounts): void {
  if (finishedCount(counts) !== counts.read) {
    throw new Error(`the tally does not balance: ${JSON.stringify(counts)}`);
  }
}

/** Records that have their outcome. */
export function finishedCount(counts: OutcomeCounts): number {
  const { accepted, rejected, unknown, notSent, resumed, duplicates, unchanged } = counts;
  return accepted + rejected + unknown + notSent + resumed + duplicates + unchanged;
}

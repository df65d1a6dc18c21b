/** Kinds of non-idempotent records; `other` are demerges and profiles with operators. */
export type NonIdempotentKind = 'event' | 'other';

/** Why a record need not be sent. */
export const skipReason = {
  none: 0,
  /** It is what the account last accepted for its key. */
  unchanged: 1,
  /** Another run sent the event. */
  alreadySent: 2,
  /** A run that was killed may have sent the event, and none has reported that yet. */
  unreported: 3,
} as const;

/** Counts of outcomes that the journal commits. Records that were not sent have none. */
export type CommittedCounts = ReturnType<typeof zeroCommitted>;

export const zeroCommitted = () => ({
  accepted: 0,
  rejected: 0,
  unknown: 0,
  duplicates: 0,
  /** Not sent, because it is what the account last accepted. */
  unchanged: 0,
  /** Events not sent, because another run sent them. */
  alreadySent: 0,
});

/** Counts of all outcomes. Each record read is counted once besides `read`. */
export interface OutcomeCounts extends CommittedCounts {
  read: number;
  notSent: number;
  /** 1 if the input ends in the middle of a record; included in `notSent`. */
  heldBack?: number;
  /** Accepted in an earlier attempt of the same run. */
  resumed: number;
  /** Records of other shards; not included in `read`. */
  otherShards?: number;
}

/** Zero counts, in the order of the summary. */
export const zeroCounts = (): OutcomeCounts => ({
  read: 0,
  accepted: 0,
  rejected: 0,
  unknown: 0,
  notSent: 0,
  resumed: 0,
  duplicates: 0,
  unchanged: 0,
  alreadySent: 0,
});

/** Throws a defect if a record has no outcome or two. */
export function assertBalanced(counts: OutcomeCounts): void {
  if (finishedCount(counts) !== counts.read) {
    throw new Error(`the counts do not add up: ${JSON.stringify(counts)}`);
  }
}

/** Counts the records that have an outcome. */
export function finishedCount(counts: OutcomeCounts): number {
  const { accepted, rejected, unknown, notSent, resumed } = counts;
  const skipped = counts.duplicates + counts.unchanged + counts.alreadySent;
  return accepted + rejected + unknown + notSent + resumed + skipped;
}

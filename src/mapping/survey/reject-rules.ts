interface RejectRule {
  readonly id: string;
  /** Of the reason for which a row is rejected before anything is sent. */
  readonly pattern: RegExp;
  readonly fix: string;
}

/** What to do about local rejects that mostly come in crowds (service-facts, Answers: 523, 525). */
export const rejectRules: readonly RejectRule[] = [
  {
    id: 'identity-empty',
    pattern: /the value is empty or missing$|^identity is missing$/,
    fix: 'name another column with --identity, or the one of the devices with --object-id',
  },
  {
    id: 'milliseconds',
    pattern: /epoch seconds are wanted, not milliseconds$|no number of epoch seconds/,
    fix: 'write seconds (the number without its last three digits), or ISO 8601',
  },
];

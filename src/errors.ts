/** What a shell sees. Scripts branch on these, so a number never changes its meaning. */
export const exitCodes = {
  ok: 0,
  defect: 1,
  usage: 2,
  rejected: 3,
  credentials: 4,
  unavailable: 5,
  unknown: 6,
  protocol: 7,
  refused: 8,
  file: 9,
  hungUp: 129,
  interrupted: 130,
  closedPipe: 141,
  terminated: 143,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Stable ids of the errors a user can meet, and the exit code each of them ends with. */
export const errorIds = {
  'E-DEFECT': exitCodes.defect,
  'E-USAGE': exitCodes.usage,
  'E-CONFIG': exitCodes.usage,
  'E-CONFIG-FILE': exitCodes.usage,
  'E-REGION': exitCodes.usage,
  'E-BASE-URL': exitCodes.usage,
  'E-CONFIRM': exitCodes.usage,
  'E-DATE': exitCodes.usage,
  'E-WEBASSEMBLY': exitCodes.usage,
  'E-REJECTED': exitCodes.rejected,
  'E-NOT-FOUND': exitCodes.rejected,
  'E-CALL': exitCodes.rejected,
  'E-SHORT': exitCodes.rejected,
  'E-TOO-FEW': exitCodes.rejected,
  'E-DIFFERENT': exitCodes.rejected,
  'E-CREDENTIALS': exitCodes.credentials,
  'E-UNAVAILABLE': exitCodes.unavailable,
  'E-PENDING': exitCodes.unavailable,
  'E-UNKNOWN': exitCodes.unknown,
  'E-ANSWER': exitCodes.protocol,
  'E-CURSOR': exitCodes.protocol,
  'E-HEADER': exitCodes.refused,
  'E-HEADER-DUPLICATE': exitCodes.refused,
  'E-HEADER-EMPTY': exitCodes.refused,
  'E-COLUMN-MISSING': exitCodes.refused,
  'E-EXPECTED': exitCodes.refused,
  'E-FORMAT': exitCodes.refused,
  'E-CSV-QUOTE': exitCodes.refused,
  'E-TOO-MANY': exitCodes.refused,
  'E-ALREADY-SENT': exitCodes.refused,
  'E-LEDGER': exitCodes.refused,
  'E-INPUT-CHANGED': exitCodes.refused,
  'E-JOURNAL': exitCodes.refused,
  'E-REJECTS-CHANGED': exitCodes.refused,
  'E-RUN-CHANGED': exitCodes.refused,
  'E-RUN-LOCKED': exitCodes.refused,
  'E-RUN-UNFINISHED': exitCodes.refused,
  'E-RUN-VERSION': exitCodes.refused,
  'E-UNTRUSTED': exitCodes.refused,
  'E-OUTPUT-EXISTS': exitCodes.refused,
  'E-PARTIAL-EXISTS': exitCodes.refused,
  'E-FILE-READ': exitCodes.file,
  'E-FILE-WRITE': exitCodes.file,
  'E-COLUMNS': exitCodes.file,
  'E-INTERRUPTED': exitCodes.interrupted,
  'E-TERMINATED': exitCodes.terminated,
  'E-HUNG-UP': exitCodes.hungUp,
  'E-STDOUT-CLOSED': exitCodes.closedPipe,
} as const satisfies Record<string, ExitCode>;
export type ErrorId = keyof typeof errorIds;

export interface ErrorDetails extends ErrorOptions {
  /** Why it happened, in one sentence. */
  readonly why?: string | undefined;
  /** What to type next. */
  readonly fix?: string | undefined;
  /** `fix` names the command that resumes the run, so that nobody else needs to. */
  readonly resumes?: boolean | undefined;
  readonly file?: string | undefined;
  /** Physical line, 1-based. */
  readonly line?: number | undefined;
  /** 1-based, in bytes of the decoded line. */
  readonly column?: number | undefined;
  /** The service does not know an event that was asked for: the same request never succeeds. */
  readonly namesEvent?: true | undefined;
  /** Identities and addresses in its words, the longest first: who shows it may shorten them. */
  readonly personal?: readonly string[] | undefined;
}

/** A failure we foresaw: the user gets what, why and how to go on; never a stack trace. */
export class EngagectlError extends Error {
  readonly id: ErrorId;
  readonly exitCode: ExitCode;
  readonly details: ErrorDetails;

  constructor(id: ErrorId, message: string, details: ErrorDetails = {}) {
    super(message, details);
    this.name = 'EngagectlError';
    this.id = id;
    this.exitCode = errorIds[id];
    this.details = details;
  }
}

/** When several codes apply to one run, the first of these that applies is the run's. */
const bySeverity: readonly ExitCode[] = [
  exitCodes.defect,
  exitCodes.unknown,
  exitCodes.interrupted,
  exitCodes.terminated,
  exitCodes.hungUp,
  exitCodes.closedPipe,
  exitCodes.protocol,
  exitCodes.file,
  exitCodes.credentials,
  exitCodes.unavailable,
  exitCodes.refused,
  exitCodes.usage,
  exitCodes.rejected,
];

/** The exit code of a run to which all of `codes` apply. */
export function mostSerious(codes: Iterable<ExitCode>): ExitCode {
  const present = new Set(codes);
  return bySeverity.find((code) => present.has(code)) ?? exitCodes.ok;
}

export const exitCodeOf = (error: unknown): ExitCode =>
  error instanceof EngagectlError ? error.exitCode : exitCodes.defect;

/** How those who started the work call one of its options in advice, like `--rejects <file>`. */
export type OptionName = (option: string, value?: string) => string;

/** Of who has no names of their own for them. */
export const unnamedOption: OptionName = (option) => option;

/** What work ends with that was aborted for this reason, whatever that is. */
export function interruptionError(reason: unknown): EngagectlError {
  if (reason instanceof EngagectlError) return reason;
  const why = reason instanceof Error ? reason.message : String(reason);
  return new EngagectlError('E-INTERRUPTED', 'the run was aborted', { why, cause: reason });
}

/**
 * `1,234,567`, of a whole number, in what is said to people. Not by `toLocaleString`, which loads its
 * tables first: 15 ms.
 */
export const groupDigits = (value: number): string =>
  String(value).replaceAll(/\B(?=(\d{3})+$)/g, ',');

/** `1 record`, `2,000 records`; of a noun that takes an s. */
export const countOf = (value: number, noun: string): string =>
  `${groupDigits(value)} ${noun}${value === 1 ? '' : 's'}`;

/** What values that were named in a command line have in place of a file. */
export const argumentsSource = 'arguments';

/** Where a record stands: `users.csv:17`; of the second value that was named, `argument 2`. */
export const sourceLine = (source: string, line: number): string =>
  source === argumentsSource ? `argument ${line}` : `${source}:${line}`;

/** `1 of 1 record was`, `2 of 4,995 records were`; `of`: what stands between the numbers. */
export const fractionOf = (some: number, all: number, nouns: string, of = 'of'): string =>
  `${groupDigits(some)} ${of} ${groupDigits(all)} ${all === 1 ? nouns.replace(/s$/, '') : nouns} ${some === 1 ? 'was' : 'were'}`;

/** Exit codes. Scripts branch on them, so a number never changes its meaning. */
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

/** Stable ids of the errors that a user can meet, with their exit codes. */
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
  'E-WARNINGS': exitCodes.rejected,
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
  'E-INCOMPLETE': exitCodes.file,
  'E-FILE-WRITE': exitCodes.file,
  'E-COLUMNS': exitCodes.file,
  'E-INTERRUPTED': exitCodes.interrupted,
  'E-TERMINATED': exitCodes.terminated,
  'E-HUNG-UP': exitCodes.hungUp,
  'E-STDOUT-CLOSED': exitCodes.closedPipe,
} as const satisfies Record<string, ExitCode>;
export type ErrorId = keyof typeof errorIds;

export interface ErrorDetails extends ErrorOptions, QuotedText {
  /** The cause, in one sentence. */
  readonly why?: string | undefined;
  /** Command or action to try next. */
  readonly fix?: string | undefined;
  /** Whether `fix` names the command that resumes the run. */
  readonly resumes?: boolean | undefined;
  /** Help that a terminal shows below the error. */
  readonly help?: string | undefined;
  readonly file?: string | undefined;
  /** Physical line, 1-based. */
  readonly line?: number | undefined;
  /** 1-based, in bytes of the decoded line. */
  readonly column?: number | undefined;
  /** The service does not know a requested event, so the same request never succeeds. */
  readonly namesEvent?: true | undefined;
}

/** What is to be masked in a text. */
export interface QuotedText {
  /** Identities and addresses in the text, longest first. */
  readonly personal?: readonly string[] | undefined;
  /** Part of the text that is from the service, whose numbers may be phone numbers. */
  readonly foreign?: string | undefined;
}

/** An expected failure: the user sees what failed, why, and what to do; never a stack trace. */
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

/** Exit codes by severity: the first one that applies to a run is the run's. */
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

/** Returns the exit code of a run to which all of `codes` apply. */
export function mostSerious(codes: Iterable<ExitCode>): ExitCode {
  const present = new Set(codes);
  return bySeverity.find((code) => present.has(code)) ?? exitCodes.ok;
}

export const exitCodeOf = (error: unknown): ExitCode =>
  error instanceof EngagectlError ? error.exitCode : exitCodes.defect;

/** Formats an option as the caller knows it, like `--rejects <file>`. */
export type OptionName = (option: string, value?: string) => string;

/** Option names for callers without flags. */
export const unnamedOption: OptionName = (option) => option;

/** Grace period for requests in flight after an interrupt, in milliseconds. */
export const graceMilliseconds = 10_000;

/** Converts the abort reason of a runtime to the error that the work ends with: an EngagectlError is that error. */
export const interruptionError = (reason: unknown): EngagectlError =>
  asEngagectlError(reason) ?? callerAbort(reason);

/** Converts the abort reason of a library caller, which may be the error of another job, to E-INTERRUPTED. */
export const callerAbort = (reason: unknown): EngagectlError =>
  new EngagectlError('E-INTERRUPTED', 'the run was aborted', {
    why: reasonText(reason),
    cause: reason,
  });

// A reason can be any value: one without a prototype has no text, and a proxy throws at every use.

function asEngagectlError(reason: unknown): EngagectlError | undefined {
  try {
    return reason instanceof EngagectlError ? reason : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the text of a thrown value or abort reason. */
export function reasonText(reason: unknown): string {
  try {
    return String(reason instanceof Error ? reason.message : reason);
  } catch {
    return 'the reason has no text';
  }
}

/** Formats a whole number like `1,234,567`. Not by `toLocaleString`, which first loads its tables: 15 ms. */
export const groupDigits = (value: number): string =>
  String(value).replaceAll(/\B(?=(\d{3})+$)/g, ',');

/** Formats `1 record`, `2,000 records`; for nouns with a regular plural. */
export const countOf = (value: number, noun: string): string =>
  `${groupDigits(value)} ${noun}${value === 1 ? '' : 's'}`;

/** Source name of values given on the command line. */
export const argumentsSource = 'arguments';

/**
 * Formats the location of a record: `users.csv:17`; `argument 2` for the second value on the command
 * line.
 */
export const sourceLine = (source: string, line: number): string =>
  source === argumentsSource ? `argument ${line}` : `${source}:${line}`;

/** Formats `1 of 1 record was`, `2 of 4,995 records were`; `of` is placed between the numbers. */
export const fractionOf = (some: number, all: number, nouns: string, of = 'of'): string =>
  `${groupDigits(some)} ${of} ${groupDigits(all)} ${all === 1 ? nouns.replace(/s$/, '') : nouns} ${some === 1 ? 'was' : 'were'}`;

/** Returns the message of an error and its cause, in one line. */
export const withWhy = ({ message, details: { why } }: EngagectlError): string =>
  why ? `${message}: ${why}` : message;

/** Throws E-CONFIG if NODE_TLS_REJECT_UNAUTHORIZED=0 lets Node accept any certificate; `why` says what that endangers. */
export function refuseUnverifiedTls(
  env: Readonly<Record<string, string | undefined>>,
  why: string,
): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return;
  throw new EngagectlError('E-CONFIG', 'NODE_TLS_REJECT_UNAUTHORIZED=0 is set', {
    why,
    fix: 'unset it; for a private certificate authority set NODE_EXTRA_CA_CERTS=<file.pem>',
  });
}

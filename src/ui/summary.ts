import { withProgramName } from '../wording.js';
import { formatBytes, count, grouped, formatMs, formatDuration } from './format.js';
import { appendStepSummary } from './github-actions.js';
import { sanitize, sanitizedJson, typedLine, versioned } from './sanitize.js';
import type {
  DayCounts,
  SettledCounts,
  ExportResult,
  HistoryFigures,
  RejectKind,
  RunResult,
  VerifyResult,
  WriteResult,
} from '../jobs/job-results.js';
import type { EngagectlError } from '../errors.js';
import type { PiiSettings } from './mask.js';
import type { Runtime } from '../runtime.js';
import type { DisplaySettings } from './display-settings.js';
import type { Messages } from './messages.js';
import type { Rehearsal } from '../jobs/job-options.js';

export interface SummaryContext {
  readonly settings: DisplaySettings;
  readonly runtime: Pick<Runtime, 'stdout' | 'stderr' | 'env' | 'log' | 'program'>;
  readonly messages: Messages;
  /** Standard output carries records, so the JSON object goes to stderr. */
  readonly recordsOnStdout: boolean;
  /** Verb in the past tense, like `exported`. */
  readonly verb: string;
  /** Noun for the records, like `users`. */
  readonly nouns: string;
  /** False if nothing is kept of the run. */
  readonly unfinished?: boolean;
  /** Suggested command after success. */
  readonly next?: string | undefined;
}

/**
 * Prints the summary: text on stderr, or one JSON object, which has a `type` on stderr; and GitHub's step
 * summary. Returns false if stdout did not accept its part.
 */
export async function showSummary(summary: Summary, context: SummaryContext): Promise<boolean> {
  const { settings, recordsOnStdout } = context;
  const { stdout, stderr, log } = context.runtime;
  const object = versioned(summary);
  log?.({ type: 'summary', text: asText(summary, context), about: object });
  const line = typedLine('summary', object, settings);
  let isTaken: Promise<boolean> | undefined;
  if (settings.json && !recordsOnStdout) isTaken = written(stdout, `${sanitizedJson(object)}\n`);
  else if (settings.json) stderr.write(line);
  else if (!settings.quiet)
    stderr.write(settings.logJson ? line : sanitize(asText(summary, context)));
  const title = `engagectl ${summary.command}: ${verdict(summary)}`;
  await appendStepSummary({ title, figures: summaryFigures(summary) }, context);
  return (await isTaken) ?? true;
}

const written = async (stdout: Runtime['stdout'], text: string): Promise<boolean> =>
  new Promise((resolve) => {
    stdout.write(text, (error) => resolve(!error));
  });

/** Labels of the figures, in the order in which they are printed. */
const labels = {
  account: 'account',
  run: 'run',
  read: 'read',
  checked: 'checked',
  same: 'same',
  different: 'different',
  missing: 'missing',
  untold: 'undecided',
  settled: 'settled',
  proof: 'proved',
  seed: 'seed',
  accepted: 'accepted',
  rejected: 'rejected',
  warnings: 'warnings',
  hints: 'hints',
  rules: 'found',
  unknown: 'unknown',
  notSent: 'not sent',
  heldBack: 'held back',
  resumed: 'resumed',
  duplicates: 'duplicates',
  new: 'new',
  changed: 'changed',
  unchanged: 'unchanged',
  gone: 'gone',
  alreadySent: 'already sent',
  otherShards: 'elsewhere',
  emptyRows: 'empty rows',
  records: 'records',
  days: 'days',
  pages: 'pages',
  requests: 'requests',
  retries: 'retries',
  pendingSeconds: 'pending',
  bytesSent: 'sent',
  bytes: 'size',
  seconds: 'time',
  rate: 'rate',
  rejectsFile: 'rejects',
  output: 'output',
  report: 'report',
} as const;

/** One line of a summary. */
export interface Figure {
  readonly name: keyof typeof labels;
  readonly label: string;
  readonly value: string;
  readonly isZero: boolean;
}

/** Returns the figures of a summary. */
export function summaryFigures(summary: Summary): Figure[] {
  const { records, accepted, pendingSeconds, bytesSent, bytes, seconds } = summary;
  const rate = recordRate(summary);
  const values: Readonly<Record<Figure['name'], string | number | null | undefined>> = {
    account: place(summary),
    run: summary.run,
    read: summary.read,
    checked: summary.checked,
    same: summary.same,
    different: summary.different,
    missing: summary.missing,
    untold: summary.untold === 0 ? undefined : summary.untold,
    settled: summary.settled && settledText(summary.settled),
    proof: summary.proof,
    seed: typeof summary.mostDiffer === 'number' ? String(summary.seed) : undefined,
    accepted,
    rejected: summary.rejected,
    warnings: summary.warnings,
    hints: summary.hints?.length,
    rules: foundText(summary),
    unknown: summary.unknown,
    notSent: summary.notSent,
    heldBack: summary.heldBack,
    resumed: summary.resumed,
    duplicates: summary.duplicates,
    new: summary.plan?.new,
    changed: summary.plan?.changed,
    unchanged: summary.plan && summary.unchanged,
    gone: summary.plan?.gone,
    alreadySent: summary.alreadySent,
    otherShards: summary.otherShards,
    emptyRows: summary.emptyRows,
    records,
    days: summary.days && daysText(summary.days),
    pages: summary.pages,
    requests: summary.requests,
    retries: summary.retries,
    pendingSeconds: pendingSeconds ? formatDuration(pendingSeconds) : undefined,
    bytesSent: bytesSent === undefined ? undefined : formatBytes(bytesSent),
    bytes: bytes === undefined ? undefined : formatBytes(bytes),
    seconds: formatDuration(seconds),
    rate: rate && `${rate} records/s`,
    rejectsFile: summary.rejectsFile,
    output: summary.output,
    report: summary.report,
  };
  return Object.entries(labels).flatMap(([key, label]) => {
    const name = key as Figure['name'];
    const figure = values[name];
    if (figure === undefined || figure === null) return [];
    const value = typeof figure === 'number' ? grouped(figure) : figure;
    return [{ name, label, value, isZero: figure === 0 }];
  });
}

/** Formats records per second; undefined if there were none, or no time passed. */
export function recordRate({ records, accepted = 0, seconds }: Summary): string | undefined {
  const done = records ?? accepted;
  return seconds > 0 && done > 0 ? grouped(Math.round(done / seconds)) : undefined;
}

/** Formats rows by rule, like `2 duplicate, 1 alphabet`. */
function foundText({ rules = {} }: Summary): string | undefined {
  const each = Object.entries(rules).map(([rule, rows = 0]) => `${grouped(rows)} ${rule}`);
  return each.length > 0 ? each.join(', ') : undefined;
}

const settledText = ({ accepted, absent, unknown }: SettledCounts): string =>
  `${grouped(accepted)} accepted, ${grouped(absent)} not found, ${grouped(unknown)} unknown`;

function daysText({ wanted, present, fetched, refreshed, short }: DayCounts): string {
  const missing = wanted - present - fetched - refreshed - short;
  const parts = [
    `${grouped(wanted)} wanted`,
    ...(present > 0 ? [`${grouped(present)} there`] : []),
    ...(fetched > 0 ? [`${grouped(fetched)} fetched`] : []),
    ...(refreshed > 0 ? [`${grouped(refreshed)} refreshed`] : []),
    ...(short > 0 ? [`${grouped(short)} short`] : []),
    ...(missing > 0 ? [`${grouped(missing)} missing`] : []),
  ];
  return parts.join(', ');
}

function place({ accountId, region, profile }: Summary): string | undefined {
  if (accountId === null) return undefined;
  return `${accountId} (region ${region}${profile ? `, profile ${profile}` : ''})`;
}

/** Formats the headline, and a line for each nonzero figure that it does not contain. */
function asText(
  summary: Summary,
  { verb, nouns, next, runtime, unfinished = true }: SummaryContext,
): string {
  const { exitCode } = summary;
  const rest = summaryFigures(summary).filter(
    ({ name, isZero }) => !isZero && !isInHeadline(summary, name) && (name !== 'run' || unfinished),
  );
  const lines = [
    ...rest.filter(({ name }) => name === 'account').map(lineOf),
    ...traffic(summary),
    ...rest.filter(({ name }) => name !== 'account').map(lineOf),
  ];
  if (next !== undefined && exitCode === 0 && runtime.stderr.isTTY === true) {
    lines.push(['next', withProgramName(next, runtime.program)]);
  }
  const block = lines.map(([label, text]) => `  ${label.padEnd(9)} ${text}\n`).join('');
  return `${headline(summary, { verb, nouns })}\n${block}`;
}

const lineOf = ({ label, value }: Figure): [label: string, text: string] => [label, value];

/** Formats `343 MB in 2,501 requests (1 retry), 2m 13s, 18,741 records/s`. */
function traffic(summary: Summary): [label: string, text: string][] {
  const { bytesSent, bytes = 0, seconds, requests, retries } = summary;
  if (requests === 0 || !isInHeadline(summary, 'requests')) return [];
  const again = retries > 0 ? ` (${grouped(retries)} ${retries === 1 ? 'retry' : 'retries'})` : '';
  const perSecond = recordRate(summary);
  const rate =
    perSecond === undefined ? '' : `, ${perSecond} ${perSecond === '1' ? 'record' : 'records'}/s`;
  const size = (bytesSent ?? bytes) > 0 ? `${formatBytes(bytesSent ?? bytes)} in ` : '';
  const time = seconds < 0.1 ? formatMs(1000 * seconds) : formatDuration(seconds);
  return [['traffic', `${size}${count(requests, 'request')}${again}, ${time}${rate}`]];
}

/** Formats how a run ended in one line: `uploaded 4,995 of 5,000 users; 5 rejected`. */
export function headline(
  summary: Summary,
  { verb, nouns }: Pick<SummaryContext, 'verb' | 'nouns'>,
): string {
  const { command, records, read, exitCode } = summary;
  if (summary.proof !== undefined) return summary.proof;
  if (records !== undefined) {
    const sofar = exitCode === 0 ? '' : ' before it stopped';
    return `${verb} ${counted(records, nouns)}${sofar}`;
  }
  if (read === undefined) return `${command}: ${verdict(summary)}`;
  const parts = [mainPart(summary, verb, nouns), ...otherParts(summary, command)];
  return parts.filter((part) => part !== undefined).join('; ');
}

function mainPart(summary: Summary, verb: string, nouns: string): string {
  const { read = 0, accepted = 0, resumed = 0, notSent = 0, heldBack = 0, rehearsal } = summary;
  if (rehearsal === 'check')
    return `check: ${ofAll(notSent - heldBack, read, nouns)} would be sent`;
  const taken = ofAll(accepted + resumed, read, nouns);
  if (rehearsal === 'dryRun') return `dry run: the service would take ${taken}`;
  // Sent is not accepted: another run of the same text may not know what became of it.
  if (resumed > 0 && resumed === read)
    return `nothing to send: an earlier attempt sent ${counted(resumed, nouns)}`;
  const before = resumed > 0 ? `, ${grouped(resumed)} of them in an earlier attempt` : '';
  if (isCut(summary))
    return `${verb} ${counted(accepted + resumed, nouns)}${before} before it stopped`;
  return `${verb} ${taken}${before}`;
}

/** Whether the run stopped early, so that the number of records read is not the total. */
const isCut = ({ exitCode, accepted = 0, resumed = 0, rehearsal, ...counts }: Summary): boolean => {
  const { notSent = 0, heldBack = 0 } = counts;
  const isStopped = ![0, 3, 6].includes(exitCode) && notSent > heldBack;
  return isStopped && accepted + resumed > 0 && rehearsal === undefined;
};

function otherParts(summary: Summary, command: string): (string | undefined)[] {
  const { rejected, unknown, notSent = 0, heldBack = 0, duplicates, alreadySent } = summary;
  const { rehearsal } = summary;
  const unsent = isCut(summary) ? 'more were read and not sent' : 'not sent';
  return [
    part(rejected, command === 'get-profile' ? 'not found' : 'rejected'),
    part(unknown, 'with an unknown outcome'),
    part(duplicates, duplicates === 1 ? 'duplicate' : 'duplicates'),
    part(alreadySent, 'already sent before'),
    part(heldBack, 'held back'),
    ...(rehearsal === undefined
      ? [part(notSent - heldBack, command === 'get-profile' ? 'not asked for' : unsent)]
      : [rehearsal === 'check' ? 'nothing was sent' : 'nothing was changed']),
  ];
}

/** Undefined for zero. */
const part = (value = 0, what: string): string | undefined =>
  value === 0 ? undefined : `${grouped(value)} ${what}`;

/** Formats `3,000 users`, `2,999 of 3,000 users`, `1 user`. */
function ofAll(part: number, whole: number, nouns: string): string {
  return part === whole ? counted(whole, nouns) : `${grouped(part)} of ${counted(whole, nouns)}`;
}

const counted = (count: number, nouns: string): string =>
  `${grouped(count)} ${count === 1 ? nouns.replace(/ies$/, 'y').replace(/(?<=us)es$|s$/, '') : nouns}`;

/** Figures of the headline and of the traffic line. */
const headlineFigures: ReadonlySet<Figure['name']> = new Set([
  ...(['read', 'accepted', 'rejected', 'unknown', 'notSent', 'heldBack'] as const),
  ...(['resumed', 'duplicates', 'alreadySent'] as const),
  ...(['records', 'checked', 'proof', 'pages', 'requests', 'retries'] as const),
  ...(['pendingSeconds', 'bytesSent', 'bytes', 'seconds', 'rate'] as const),
]);

/** Whether a figure needs no line of its own. The run id has one if the run can be resumed. */
export function isInHeadline({ exitCode, rejectsFile }: Summary, figure: Figure['name']): boolean {
  if (figure === 'run') return exitCode === 0 || Boolean(rejectsFile);
  return headlineFigures.has(figure);
}

/** Formats the outcome in a word or two. */
export function verdict({
  exitCode,
  rehearsal,
  proof,
  rejected = 0,
  hints = [],
}: Pick<Summary, 'exitCode' | 'rehearsal' | 'proof' | 'rejected' | 'hints'>): string {
  if (proof !== undefined && exitCode === 3) return 'differences found';
  const isWarned = exitCode === 3 && rejected === 0 && hints.length > 0;
  const words = isWarned ? 'done, with warnings' : (verdicts[exitCode] ?? 'failed');
  return rehearsal === undefined
    ? words
    : `${rehearsal === 'check' ? 'check' : 'dry run'}: ${words}`;
}

const verdicts: Readonly<Record<number, string>> = {
  0: 'done',
  3: 'done, with rejects',
  6: 'outcomes unknown',
  129: 'interrupted',
  130: 'interrupted',
  143: 'interrupted',
};

/** Summary of a run, in the order of the contract. Figures of other kinds of commands are missing. */
export interface Summary
  extends
    Omit<RunResult, 'run' | 'error' | 'unfinished'>,
    Partial<Pick<RunResult, 'run'>>,
    Partial<Omit<WriteResult, keyof RunResult | 'done' | 'stopped'>>,
    Partial<Omit<ExportResult, keyof RunResult>>,
    Partial<Omit<VerifyResult, keyof RunResult>> {
  /** Accepted rows with a warning. */
  readonly warnings?: number;
  /** Warnings by rule. */
  readonly rules?: Readonly<Partial<Record<string, number>>>;
  readonly command: string;
  /** Set if nothing was changed. */
  readonly rehearsal?: Rehearsal | undefined;
  /** Path of the HTML report, if requested. */
  readonly report?: string | undefined;
  /** Config profile; null if everything came from flags and environment. */
  readonly profile: string | null;
  /** Null, like the account id, for a check without an account. */
  readonly region: string | null;
}

/** Everything that the report of a run shows. */
export interface RunReport {
  readonly summary: Summary;
  /** The error that the run ended with. */
  readonly error: EngagectlError | undefined;
  /** Command that resumes an unfinished run. */
  readonly next: string | undefined;
  /** Program name as it was called. */
  readonly program: string;
  /** Command line as typed, without the program name. */
  readonly argv: readonly string[];
  /** Epoch milliseconds. */
  readonly ended: number;
  /** Whether the run is a resumed one. */
  readonly resumed: boolean;
  readonly history: HistoryFigures;
  /** Whether personal data is masked. */
  readonly settings: PiiSettings;
  /** Rejects by kind: `service 515`, `parse`, … */
  readonly rejectKinds: ReadonlyMap<string, RejectKind>;
}

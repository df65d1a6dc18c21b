import { appendFile, constants } from 'node:fs/promises';
import { asCalled } from '../wording.js';
import { bytesText, count, grouped, msText, secondsText } from './format.js';
import { inert, inertJson, versioned } from './sanitize.js';
import type {
  DayCounts,
  SettledCounts,
  ExportResult,
  RunResult,
  VerifyResult,
  WriteResult,
} from '../jobs/job-results.js';
import type { Runtime } from '../runtime.js';
import type { DisplaySettings } from './display-settings.js';
import type { Messages } from './messages.js';
import type { Rehearsal } from '../jobs/job-options.js';

interface SummaryWorld {
  readonly settings: DisplaySettings;
  readonly runtime: Pick<Runtime, 'stdout' | 'stderr' | 'env' | 'log' | 'program'>;
  readonly messages: Messages;
  /** Standard output carries records, so the JSON object goes to stderr. */
  readonly recordsOnStdout: boolean;
  /** What the records are, like `users`. */
  readonly nouns: string;
  /** False where nothing is kept of the run that its name would lead to. */
  readonly unfinished?: boolean;
  /** A command to go on with, for a person after success. */
  readonly next?: string | undefined;
}

/**
 * The end of a run: text for people on stderr, or one JSON object, and GitHub's step summary. False
 * when stdout did not take what was for it.
 */
export async function showSummary(summary: Summary, world: SummaryWorld): Promise<boolean> {
  const { settings, recordsOnStdout } = world;
  const { stdout, stderr, log } = world.runtime;
  const object = versioned(summary);
  log?.({ type: 'summary', text: asText(summary, world), about: object });
  const line = inertJson(settings.logJson ? { type: 'summary', ...object } : object);
  let isTaken: Promise<boolean> | undefined;
  if (settings.json && !recordsOnStdout) isTaken = written(stdout, `${inertJson(object)}\n`);
  else if (settings.json) stderr.write(`${line}\n`);
  else if (!settings.quiet)
    stderr.write(settings.logJson ? `${line}\n` : inert(asText(summary, world)));
  await appendStepSummary(summary, world);
  return (await isTaken) ?? true;
}

const written = async (stdout: Runtime['stdout'], text: string): Promise<boolean> =>
  new Promise((resolve) => {
    stdout.write(text, (error) => resolve(!error));
  });

/** Label and value of each line. */
export function summaryFigures(summary: Summary): [label: string, value: string][] {
  const { records, accepted, pendingSeconds, bytesSent, bytes, seconds } = summary;
  const done = records ?? accepted ?? 0;
  const rate = seconds > 0 && done > 0 ? grouped(Math.round(done / seconds)) : undefined;
  const figures: (readonly [label: string, figure: string | number | null | undefined])[] = [
    ['account', place(summary)],
    ['run', summary.run],
    ['read', summary.read],
    ['checked', summary.checked],
    ['same', summary.same],
    ['different', summary.different],
    ['missing', summary.missing],
    ['not told', summary.untold === 0 ? undefined : summary.untold],
    ['settled', summary.settled && settledText(summary.settled)],
    ['proved', summary.proof],
    ['seed', typeof summary.mostDiffer === 'number' ? String(summary.seed) : undefined],
    ['accepted', accepted],
    ['rejected', summary.rejected],
    ['warnings', summary.warnings],
    ['found', foundText(summary)],
    ['unknown', summary.unknown],
    ['not sent', summary.notSent],
    ['resumed', summary.resumed],
    ['duplicates', summary.duplicates],
    ['new', summary.plan?.new],
    ['changed', summary.plan?.changed],
    ['unchanged', summary.plan && summary.unchanged],
    ['gone', summary.plan?.gone],
    ['elsewhere', summary.otherShards],
    ['records', records],
    ['days', summary.days && daysText(summary.days)],
    ['pages', summary.pages],
    ['requests', summary.requests],
    ['retries', summary.retries],
    ['pending', pendingSeconds ? secondsText(pendingSeconds) : undefined],
    ['sent', bytesSent === undefined ? undefined : bytesText(bytesSent)],
    ['size', bytes === undefined ? undefined : bytesText(bytes)],
    ['time', secondsText(seconds)],
    ['rate', rate && `${rate} records/s`],
    ['rejects', summary.rejectsFile],
    ['output', summary.output],
    ['report', summary.report],
  ];
  return figures.flatMap(([label, figure]) =>
    figure === undefined || figure === null
      ? []
      : [[label, typeof figure === 'number' ? grouped(figure) : figure]],
  );
}

/** Rows by rule, like `2 duplicate, 1 alphabet`. */
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

/** The headline, and a line for each figure that it does not tell and that is not zero. */
function asText(
  summary: Summary,
  { nouns, next, runtime, unfinished = true }: SummaryWorld,
): string {
  const { exitCode } = summary;
  const rest = summaryFigures(summary).filter(
    ([label, value]) => value !== '0' && !tells(summary, label) && (label !== 'run' || unfinished),
  );
  const [account, others] = [
    rest.filter(([label]) => label === 'account'),
    rest.filter(([label]) => label !== 'account'),
  ];
  const lines = [...account, ...traffic(summary), ...others];
  if (next !== undefined && exitCode === 0 && runtime.stderr.isTTY === true) {
    lines.push(['next', asCalled(next, runtime.program)]);
  }
  const block = lines.map(([label, text]) => `  ${label.padEnd(9)} ${text}\n`).join('');
  return `${headline(summary, nouns)}\n${block}`;
}

/** `343 MB in 2,501 requests (1 retry), 2m 13s, 18,741 records/s`. */
function traffic(summary: Summary): [label: string, text: string][] {
  const { records, accepted = 0, bytesSent, bytes = 0, seconds, requests, retries } = summary;
  if (requests === 0 || !tells(summary, 'requests')) return [];
  const done = records ?? accepted;
  const again = retries > 0 ? ` (${grouped(retries)} ${retries === 1 ? 'retry' : 'retries'})` : '';
  const rate = seconds > 0 && done > 0 ? `, ${count(Math.round(done / seconds), 'record')}/s` : '';
  const size = (bytesSent ?? bytes) > 0 ? `${bytesText(bytesSent ?? bytes)} in ` : '';
  const time = seconds < 0.1 ? msText(1000 * seconds) : secondsText(seconds);
  return [['traffic', `${size}${count(requests, 'request')}${again}, ${time}${rate}`]];
}

/** Of a FIFO that nobody reads, opening fails at once instead of waiting. */
const appending =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** GitHub Actions shows this file beside the job; that it cannot be written fails no run. */
async function appendStepSummary(summary: Summary, { runtime, messages }: SummaryWorld) {
  const file = runtime.env['GITHUB_STEP_SUMMARY'];
  if (file === undefined) return;
  const rows = summaryFigures(summary).map(([label, value]) => `| ${label} | ${markdown(value)} |`);
  const title = `### engagectl ${markdown(summary.command)}: ${verdict(summary)}`;
  try {
    const table = `${title}\n\n| | |\n|---|---|\n${rows.join('\n')}\n\n`;
    await appendFile(file, table, { flag: appending });
  } catch (error) {
    messages.warn(`the step summary could not be written: ${(error as Error).message}`);
  }
}

/** Text in a table cell: no markup, no HTML, no new row. */
const markdown = (text: string): string =>
  inert(text)
    .replace(/[\r\n\t]+/g, ' ')
    .replace(/[\\`*_{}[\]()#+!|<>&~@:]/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

/** What a command does to its records, in the past. */
const verbs: Readonly<Record<string, string>> = {
  upload: 'uploaded',
  subscribe: 'set',
  demerge: 'demerged',
  'export-profiles': 'exported',
  'export-events': 'exported',
  'get-profile': 'found',
  verify: 'compared',
  'cuid check': 'passed',
  'cuid derive': 'derived',
  'call run': 'as expected:',
};

/** How a run ended, in one line: `uploaded 4,995 of 5,000 users; 5 rejected`. */
export function headline(summary: Summary, nouns: string): string {
  const { command, records, read, exitCode } = summary;
  const verb = verbs[command];
  if (summary.proof !== undefined) return summary.proof;
  if (verb === undefined) return `${command}: ${verdict(summary)}`;
  if (records !== undefined) {
    const sofar = exitCode === 0 ? '' : ' before it stopped';
    return `${verb} ${counted(records, nouns)}${sofar}`;
  }
  if (read === undefined) return `${command}: ${verdict(summary)}`;
  const parts = [mainPart(summary, verb, nouns), ...others(summary, command)];
  return parts.filter((part) => part !== undefined).join('; ');
}

function mainPart(summary: Summary, verb: string, nouns: string): string {
  const { read = 0, accepted = 0, resumed = 0, notSent = 0, rehearsal } = summary;
  if (rehearsal === 'check') return `check: ${ofAll(notSent, read, nouns)} would be sent`;
  const taken = ofAll(accepted + resumed, read, nouns);
  if (rehearsal === 'dryRun') return `dry run: the service would take ${taken}`;
  const before = resumed > 0 ? `, ${grouped(resumed)} of them by an earlier part of the run` : '';
  if (isCut(summary))
    return `${verb} ${counted(accepted + resumed, nouns)}${before} before it stopped`;
  return `${verb} ${taken}${before}`;
}

/** It stopped in the middle: what was read by then is not all that there is. */
const isCut = ({ exitCode, accepted = 0, resumed = 0, notSent = 0, rehearsal }: Summary): boolean =>
  ![0, 3, 6].includes(exitCode) && accepted + resumed > 0 && notSent > 0 && rehearsal === undefined;

function others(summary: Summary, command: string): (string | undefined)[] {
  const { rejected, unknown, notSent, duplicates, rehearsal } = summary;
  const unsent = isCut(summary) ? 'more were read and not sent' : 'not sent';
  return [
    part(rejected, command === 'get-profile' ? 'not found' : 'rejected'),
    part(unknown, 'with an unknown outcome'),
    part(duplicates, duplicates === 1 ? 'duplicate' : 'duplicates'),
    ...(rehearsal === undefined
      ? [part(notSent, command === 'get-profile' ? 'not asked for' : unsent)]
      : [rehearsal === 'check' ? 'nothing was sent' : 'nothing was changed']),
  ];
}

/** Undefined where there are none. */
const part = (value = 0, what: string): string | undefined =>
  value === 0 ? undefined : `${grouped(value)} ${what}`;

/** `3,000 users`, `2,999 of 3,000 users`, `1 user`. */
function ofAll(part: number, whole: number, nouns: string): string {
  return part === whole ? counted(whole, nouns) : `${grouped(part)} of ${counted(whole, nouns)}`;
}

const counted = (count: number, nouns: string): string =>
  `${grouped(count)} ${count === 1 ? nouns.replace(/ies$/, 'y').replace(/(?<=us)es$|s$/, '') : nouns}`;

/** Figures that stand in the headline, or in the line about the traffic. */
const told = new Set(
  [
    'read',
    'accepted',
    'rejected',
    'unknown',
    'not sent',
    'resumed',
    'duplicates',
    'records',
    'checked',
    'proved',
  ].concat(['pages', 'requests', 'retries', 'pending', 'sent', 'size', 'time', 'rate']),
);

/** Whether a figure needs no line of its own; the run has one where it can be gone on with. */
export function tells({ command, exitCode, rejectsFile }: Summary, label: string): boolean {
  if (label === 'run') return exitCode === 0 || Boolean(rejectsFile);
  return verbs[command] !== undefined && told.has(label);
}

/** The same in a word or two. */
export function verdict({
  exitCode,
  rehearsal,
  proof,
}: Pick<Summary, 'exitCode' | 'rehearsal' | 'proof'>): string {
  if (proof !== undefined && exitCode === 3) return 'differences found';
  const words = verdicts[exitCode] ?? 'failed';
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

/**
 * What a run came to, in the order of the contract (§2 for writes, §3 for exports). Figures that
 * belong to the other kind of command are left out.
 */
export interface Summary
  extends
    Omit<RunResult, 'run' | 'error' | 'unfinished'>,
    Partial<Pick<RunResult, 'run'>>,
    Partial<Omit<WriteResult, keyof RunResult | 'done' | 'stopped'>>,
    Partial<Omit<ExportResult, keyof RunResult>>,
    Partial<Omit<VerifyResult, keyof RunResult>> {
  /** Rows of which something is to be said, though they are accepted. */
  readonly warnings?: number;
  /** Rows by what is to be said of them. */
  readonly rules?: Readonly<Partial<Record<string, number>>>;
  readonly command: string;
  /** Nothing was to be changed. */
  readonly rehearsal?: Rehearsal | undefined;
  /** The page about the run, where one was asked for. */
  readonly report?: string | undefined;
  /** Config profile; null when everything came from flags and environment. */
  readonly profile: string | null;
  /** Null with the account id: only checked, no account was used. */
  readonly region: string | null;
}

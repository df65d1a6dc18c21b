import { grouped } from './format.js';
import type { Summary } from './run-summary.js';

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

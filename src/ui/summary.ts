import { appendFile } from 'node:fs/promises';
import type { Runtime } from '../runtime.js';
import type { DisplaySettings } from './display-settings.js';
import { bytesText, grouped, secondsText } from './figures.js';
import { inert, inertJson } from './inert.js';
import type { Messages } from './messages.js';

/**
 * What a run came to, in the order of the contract (§2 for writes, §3 for exports). Keys that
 * belong to the other kind of command are left out.
 */
export interface Summary {
  readonly command: string;
  readonly run?: string | undefined;
  /** Config profile; null when everything came from flags and environment. */
  readonly profile: string | null | undefined;
  /** Null with the account id: only checked, no account was used. */
  readonly region: string | null;
  readonly accountId: string | null;
  readonly read?: number | undefined;
  readonly accepted?: number | undefined;
  readonly rejected?: number | undefined;
  readonly unknown?: number | undefined;
  readonly notSent?: number | undefined;
  readonly resumed?: number | undefined;
  readonly duplicates?: number | undefined;
  readonly records?: number | undefined;
  readonly pages?: number | undefined;
  readonly requests: number;
  readonly retries: number;
  readonly pendingSeconds?: number | undefined;
  readonly bytesSent?: number | undefined;
  readonly bytes?: number | undefined;
  readonly seconds: number;
  /** Null when there was nothing to write into one. */
  readonly rejectsFile?: string | null | undefined;
  readonly output?: string | null;
  readonly exitCode: number;
}

interface SummaryWorld {
  readonly settings: Pick<DisplaySettings, 'json' | 'logJson' | 'quiet'>;
  readonly runtime: Pick<Runtime, 'stdout' | 'stderr' | 'env'>;
  readonly messages: Messages;
  /** Standard output carries records, so the JSON object goes to stderr. */
  readonly recordsOnStdout: boolean;
}

/** The end of a run: text for people on stderr, or one JSON object, and GitHub's step summary. */
export async function showSummary(summary: Summary, world: SummaryWorld): Promise<void> {
  const { settings, runtime, recordsOnStdout } = world;
  const logged = () => inertJson({ type: 'summary', schemaVersion: 1, ...summary });
  if (settings.json) {
    const stream = recordsOnStdout ? runtime.stderr : runtime.stdout;
    const object = () => inertJson({ schemaVersion: 1, ...summary });
    stream.write(`${recordsOnStdout && settings.logJson ? logged() : object()}\n`);
  } else if (settings.logJson && !settings.quiet) {
    runtime.stderr.write(`${logged()}\n`);
  } else if (!settings.quiet) {
    runtime.stderr.write(inert(asText(summary)));
  }
  await appendStepSummary(summary, world);
}

/** Label and value of each line. */
export function summaryFigures(summary: Summary): [label: string, value: string][] {
  const { read, accepted, records, seconds } = summary;
  const done = records ?? accepted ?? 0;
  const lines: [string, string | null | undefined][] = [
    ['account', place(summary)],
    ['run', summary.run],
    ['read', number(read)],
    ['accepted', number(accepted)],
    ['rejected', number(summary.rejected)],
    ['unknown', number(summary.unknown)],
    ['not sent', number(summary.notSent)],
    ['resumed', number(summary.resumed)],
    ['duplicates', number(summary.duplicates)],
    ['records', number(records)],
    ['pages', number(summary.pages)],
    ['requests', number(summary.requests)],
    ['retries', number(summary.retries)],
    ['pending', summary.pendingSeconds ? secondsText(summary.pendingSeconds) : undefined],
    ['sent', bytes(summary.bytesSent)],
    ['size', bytes(summary.bytes)],
    ['time', secondsText(seconds)],
    [
      'rate',
      seconds > 0 && done > 0 ? `${grouped(Math.round(done / seconds))} records/s` : undefined,
    ],
    ['rejects', summary.rejectsFile],
    ['output', summary.output],
  ];
  return lines.filter((line): line is [string, string] => typeof line[1] === 'string');
}

function place({ accountId, region, profile }: Summary): string | undefined {
  if (accountId === null) return undefined;
  return `${accountId} (region ${region}${profile ? `, profile ${profile}` : ''})`;
}
const number = (value: number | undefined) => (value === undefined ? undefined : grouped(value));
const bytes = (value: number | undefined) => (value === undefined ? undefined : bytesText(value));

function asText(summary: Summary): string {
  const lines = summaryFigures(summary).map(([label, value]) => `  ${label.padEnd(11)}${value}`);
  return `${summary.command}: ${verdict(summary)}\n${lines.join('\n')}\n`;
}

/** How a run ended, in a word or two. */
export const verdict = ({ exitCode }: Summary): string =>
  exitCode === 0 ? 'done' : `exit ${exitCode}`;

/** GitHub Actions shows this file beside the job; that it cannot be written fails no run. */
async function appendStepSummary(
  summary: Summary,
  { runtime, messages }: SummaryWorld,
): Promise<void> {
  const file = runtime.env['GITHUB_STEP_SUMMARY'];
  if (file === undefined) return;
  const rows = summaryFigures(summary).map(([label, value]) => `| ${label} | ${markdown(value)} |`);
  const title = `### engagectl ${markdown(summary.command)}: ${verdict(summary)}`;
  try {
    await appendFile(file, `${title}\n\n| | |\n|---|---|\n${rows.join('\n')}\n\n`);
  } catch (error) {
    messages.warn(`the step summary could not be written: ${(error as Error).message}`);
  }
}

/** Text in a table cell: no markup, no HTML, no new row. */
const markdown = (text: string): string =>
  inert(text)
    .replace(/[\r\n\t]+/g, ' ')
    .replace(/[\\`*_{}[\]()#+!|<>&~@:]/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

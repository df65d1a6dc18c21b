import { appendFile, constants } from 'node:fs/promises';
import path from 'node:path';
import { EngagectlError, argumentsSource, sourceLine } from '../errors.js';
import { noFollow } from '../files/atomic-write.js';
import { sanitize } from './sanitize.js';
import { maskError, rejectText } from './mask.js';
import type { FirstReject } from '../jobs/job-results.js';
import type { Runtime } from '../runtime.js';
import type { DisplaySettings } from './display-settings.js';
import type { Messages } from './messages.js';

export interface AnnotationContext {
  readonly settings: DisplaySettings;
  readonly runtime: Pick<Runtime, 'stderr' | 'env' | 'cwd'>;
}

/**
 * Under GitHub Actions, prints a line `::error file=…,line=…::…` for each reject, which GitHub shows at
 * that line of the input. On stderr, because the runner reads both streams and stdout carries data; not
 * under `--json` and `--log-format json`, where stderr carries JSON lines only. Returns false outside of
 * GitHub Actions.
 */
export function annotateRejects(
  rejects: readonly FirstReject[],
  { settings, runtime }: AnnotationContext,
): boolean {
  if (!isPlace({ settings, runtime })) return false;
  for (const reject of rejects) {
    const { source, line, kind } = reject;
    write({ source, line, title: kind, text: rejectText(reject, settings) }, runtime);
  }
  return true;
}

/** Annotates an error about a whole file, such as a missing column. */
export function annotateError(thrown: unknown, context: AnnotationContext): void {
  const error = maskError(thrown, context.settings);
  if (!(error instanceof EngagectlError) || !isPlace(context)) return;
  const { file, line = 1 } = error.details;
  if (file === undefined) return;
  write({ source: file, line, title: error.id, text: error.message }, context.runtime);
}

const isPlace = ({ settings, runtime }: AnnotationContext): boolean =>
  runtime.env['GITHUB_ACTIONS'] === 'true' && !settings.json && settings.logJson !== true;

interface Annotation {
  readonly source: string;
  readonly line: number;
  readonly title: string;
  readonly text: string;
}

function write(
  { source, line, title, text }: Annotation,
  { env, stderr, cwd }: AnnotationContext['runtime'],
): void {
  const root = env['GITHUB_WORKSPACE'] ?? cwd;
  const titled = `title=${property(`engagectl: ${title}`)}`;
  const file = property(path.relative(root, path.resolve(cwd, source)));
  const place = source === argumentsSource ? sourceLine(source, line) : `line ${line}`;
  const annotation = ['stdin', '-', argumentsSource].includes(source)
    ? `${titled}::${data(`${place}: ${text}`)}`
    : `file=${file},line=${line},${titled}::${data(text)}`;
  stderr.write(`::error ${annotation}\n`);
}

/** Escapes data: the runner ends a command at a line end, and text must not start another one. */
const data = (text: string): string =>
  sanitize(text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A'));

const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** O_NONBLOCK: opening a FIFO without a reader fails immediately; a link is not followed. */
const appending =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK | noFollow;

interface StepSummary {
  readonly title: string;
  readonly figures: readonly { readonly label: string; readonly value: string }[];
}

/** Appends a table of figures to the summary of the job in GitHub Actions. A failure to write it does not fail the run. */
export async function appendStepSummary(
  { title, figures }: StepSummary,
  context: { readonly runtime: Pick<Runtime, 'env' | 'redact'>; readonly messages: Messages },
): Promise<void> {
  const { runtime, messages } = context;
  const file = runtime.env['GITHUB_STEP_SUMMARY'];
  if (file === undefined) return;
  const shown = (value: string): string => markdown(runtime.redact?.(value) ?? value);
  const rows = figures.map(({ label, value }) => `| ${label} | ${shown(value)} |`);
  try {
    const table = `### ${title}\n\n| | |\n|---|---|\n${rows.join('\n')}\n\n`;
    await appendFile(file, table, { flag: appending });
  } catch (error) {
    messages.warn(`the step summary could not be written: ${(error as Error).message}`);
  }
}

/** Figures, which have no meaning in Markdown. */
const figure = /^\d[\d.,]*[ a-z\d/]*$/i;

/**
 * Escapes text for a table cell: no markup, no HTML, no new row. Text is in code spans, since GitHub
 * turns addresses, names and numbers in other text into links, even if written as entities. Characters
 * that would end a span or a cell are placed between spans.
 */
const markdown = (text: string): string => {
  if (figure.test(text)) return text;
  const parts = sanitize(text)
    .replace(/[\r\n\t]+/g, ' ')
    .split(/([`|\\])/)
    .filter((part) => part !== '');
  return parts
    .map((part) => (/^[`|\\]$/.test(part) ? `&#${part.charCodeAt(0)};` : `\`${part}\``))
    .join('');
};

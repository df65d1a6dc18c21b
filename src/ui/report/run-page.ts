import { withProgramName } from '../../wording.js';
import { version } from '../../version.js';
import { grouped, formatMs, formatDuration } from '../format.js';
import { recordRate, summaryFigures, verdict, type Figure } from '../summary.js';
import { runCharts } from './charts.js';
import { figureTable, figureTiles, html, pageShell, type Html } from './html.js';
import type { RunReport } from '../summary.js';
import { rejectText, maskRecord, type PiiSettings } from '../mask.js';
import type { RejectKind } from '../../jobs/job-results.js';

/** Builds the self-contained HTML page about a run. */
export function runPage(report: RunReport): string {
  const { summary, ended } = report;
  const title = `${summary.command}: ${verdict(summary)}`;
  const { exitCode, seconds } = summary;
  const tone = exitCode === 0 ? 'good' : exitCode === 3 ? 'warn' : 'bad';
  const times = `${time(ended - seconds * 1000)} to ${time(ended)} UTC, ${formatDuration(seconds)}`;
  const body = html`<main>
    <header>
      <h1>engagectl ${summary.command}</h1>
      <span class="badge ${tone}">${verdict(summary)}</span>
    </header>
    <p class="dim">${times}</p>
    ${nextSteps(report)} ${tiles(report)} ${outcomeBar(report)} ${verifyBar(report)}
    ${dayBar(report)} ${changeBar(report)} ${runCharts(report)} ${rejectSection(report)}
    <h2>Summary</h2>
    ${figureTable([{ label: 'command', value: ['engagectl', ...report.argv].join(' ') }, ...summaryFigures(summary)])}
    ${footer(report)}
  </main>`;
  return pageShell(title, body);
}

const time = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace('T', ' ').slice(0, 19);

/** The error, and what to type next. */
function nextSteps({ error, next, program }: RunReport): Html | undefined {
  if (error === undefined && next === undefined) return undefined;
  const { why, fix } = error?.details ?? {};
  return html`<section class="card next ${error?.exitCode === 3 ? 'go' : ''}">
    ${error && html`<p><b>${error.message}</b> <span class="dim">${error.id}</span></p>`}
    ${why && html`<p>${why}</p>`} ${fix && html`<p>To do: ${withProgramName(fix, program)}</p>`}
    ${
      next &&
      html`<p>Resume the run with:</p>
        <pre>${withProgramName(next, program)}</pre>`
    }
  </section>`;
}

function footer({ resumed, summary, settings }: RunReport): Html {
  return html`<footer>
    ${resumed ? html`<p>The run was resumed: times, charts and samples are of its last process only; the counts cover the whole run, as the summary says.</p>` : undefined}
    <p>
      ${`Written by engagectl ${version} at the end of run ${summary.run ?? ''}. It fetches nothing and runs no script. ${settings.showPii === true ? 'Where records were rejected it shows some of them: treat it like the input.' : 'Identities and addresses are shortened; the rejects file has them whole.'}`}
    </p>
  </footer>`;
}

const tileNames: ReadonlySet<Figure['name']> = new Set([
  ...(['accepted', 'rejected', 'unknown', 'notSent', 'records', 'pages', 'rate'] as const),
  ...(['checked', 'same', 'different', 'missing'] as const),
]);

/** The main figures. Of zero counts only the rejects are shown. */
function tiles({ summary, history: { throttled, latency } }: RunReport): Html {
  const rate = { label: 'records/s', value: recordRate(summary) ?? '' };
  return figureTiles([
    ...summaryFigures(summary)
      .filter(({ name, isZero }) => tileNames.has(name) && (!isZero || name === 'rejected'))
      .map((figure) => (figure.name === 'rate' ? rate : figure)),
    { label: 'requests', value: grouped(summary.requests) },
    { label: 'answered by 429', value: grouped(throttled) },
    ...(latency ? [{ label: 'median request', value: formatMs(latency.p50) }] : []),
  ]);
}

interface Part {
  readonly name: string;
  readonly count: number | undefined;
  readonly tone: 'good' | 'soft' | 'warn' | 'bad' | 'idle' | 'main';
}

/** Outcomes of the records of a write as one bar; undefined for other commands and empty inputs. */
function outcomeBar({ summary }: RunReport): Html | undefined {
  const { read, accepted, resumed, rejected, unknown, notSent, duplicates, unchanged } = summary;
  const { alreadySent } = summary;
  if (!read || summary.proof !== undefined) return undefined;
  return bar(`Of ${grouped(read)} records`, [
    { name: 'accepted', count: accepted, tone: 'good' },
    { name: 'accepted before', count: resumed, tone: 'soft' },
    { name: 'unchanged', count: unchanged, tone: 'soft' },
    { name: 'already sent', count: alreadySent, tone: 'soft' },
    { name: 'rejected', count: rejected, tone: 'warn' },
    { name: 'unknown', count: unknown, tone: 'bad' },
    { name: 'not sent', count: notSent, tone: 'idle' },
    { name: 'duplicates', count: duplicates, tone: 'main' },
  ]);
}

/** Changes compared with the baseline, for runs with --changed. */
function changeBar({ summary }: RunReport): Html | undefined {
  if (!summary.plan) return undefined;
  const { gone } = summary.plan;
  const parts = bar('Against what was accepted before', [
    { name: 'new', count: summary.plan.new, tone: 'good' },
    { name: 'changed', count: summary.plan.changed, tone: 'main' },
    { name: 'unchanged', count: summary.plan.unchanged, tone: 'soft' },
  ]);
  return html`<h2>What changed</h2>
    ${parts}
    <p class="dim">
      ${`${grouped(gone)} remembered ${gone === 1 ? 'key is' : 'keys are'} not in the input any more; nothing is done with them.`}
    </p>`;
}

/** Counts as text and as a bar. */
function bar(what: string, all: readonly Part[]): Html | undefined {
  const parts = all.flatMap(({ count = 0, ...part }) => (count > 0 ? [{ ...part, count }] : []));
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const words = parts.map(({ name, count }) => `${grouped(count)} ${name}`).join(', ');
  let x = 0;
  const bars = parts.map(({ count, tone }) => {
    // keep a few among millions visible
    const width = Math.max((100 * count) / total, 0.6);
    const one = html`<rect class="fill ${tone}" x="${x}" width="${width}" height="10" />`;
    x += width;
    return one;
  });
  if (parts.length === 0) return undefined;
  return html`<section class="card outcome">
    <svg
      viewBox="0 0 ${x} 10"
      preserveAspectRatio="none"
      role="img"
      aria-label="${`${what}: ${words}`}"
    >
      ${bars}
    </svg>
    <ul class="keys">
      ${parts.map(({ name, count, tone }) => html`<li><i class="${tone}"></i>${grouped(count)} ${name}</li>`)}
    </ul>
  </section>`;
}

/** Result of verify, and what it proves about the records that were not checked. */
function verifyBar({ summary }: RunReport): Html | undefined {
  const { proof, checked = 0, same, different, missing, untold, settled, mostDiffer } = summary;
  if (proof === undefined) return undefined;
  const seen = bar(`Of ${grouped(checked)} that were compared`, [
    { name: 'as they were sent', count: same, tone: 'good' },
    { name: 'different', count: different, tone: 'warn' },
    { name: 'missing', count: missing, tone: 'bad' },
    { name: 'could not be compared', count: untold, tone: 'idle' },
  ]);
  const outcomes =
    settled &&
    bar('Records whose outcome was unknown', [
      { name: 'arrived', count: settled.accepted, tone: 'good' },
      { name: 'not found: they can be sent', count: settled.absent, tone: 'warn' },
      { name: 'still unknown', count: settled.unknown, tone: 'bad' },
    ]);
  return html`<h2>What is proved</h2>
    <p>${`${proof}.`}</p>
    ${seen} ${outcomes} ${ofEveryThousand(mostDiffer)}`;
}

/** A bound as a picture: how many of 1,000 may differ. */
function ofEveryThousand(most: number | null | undefined): Html | undefined {
  if (typeof most !== 'number') return undefined;
  const mayDiffer = Math.ceil(most * 1000 - 1e-9);
  return html`<p class="words">
      Of every 1,000, those that were not looked at included, 95 % sure:
    </p>
    ${bar('Of every 1,000', [
      { name: 'are as they were sent', count: 1000 - mayDiffer, tone: 'soft' },
      { name: 'may differ', count: mayDiffer, tone: 'warn' },
    ])}`;
}

/** Day files of an export that skips existing ones. */
function dayBar({ summary }: RunReport): Html | undefined {
  if (!summary.days) return undefined;
  const { wanted, present, fetched, refreshed, short } = summary.days;
  return bar(`Of ${grouped(wanted)} days`, [
    { name: 'there before', count: present, tone: 'soft' },
    { name: 'fetched', count: fetched, tone: 'good' },
    { name: 'refreshed', count: refreshed, tone: 'main' },
    { name: 'too short', count: short, tone: 'warn' },
    { name: 'missing', count: wanted - present - fetched - refreshed - short, tone: 'bad' },
  ]);
}

/** Rejected records by kind, with samples; undefined if there are none. */
function rejectSection({ rejectKinds, summary, settings }: RunReport): Html | undefined {
  if (rejectKinds.size === 0) return undefined;
  const kinds = [...rejectKinds].toSorted(([, a], [, b]) => b.count - a.count);
  const most = kinds[0]![1].count;
  const file = summary.rejectsFile
    ? html`<p class="dim">All of them are in <code>${summary.rejectsFile}</code>.</p>`
    : undefined;
  return html`<h2>Rejected and unknown records</h2>
    ${file} ${kinds.map(([name, kind]) => section(name, kind, { most, settings }))}`;
}

function section(
  name: string,
  { count, samples }: RejectKind,
  { most, settings }: { readonly most: number; readonly settings: PiiSettings },
): Html {
  const items = samples.map(
    ({ source, line, error, record, personal }) =>
      html`<div class="sample">
        <p>
          <span class="mono dim">${source}:${line}</span>
          ${rejectText({ kind: name, error, personal }, settings)}
        </p>
        ${record === undefined ? undefined : html`<pre>${maskRecord(record, settings, personal)}</pre>`}
      </div>`,
  );
  return html`<section class="card kind">
    <h3><span>${name}</span><span class="num">${grouped(count)}</span></h3>
    <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="fill warn" width="${(100 * count) / most}" height="1" />
    </svg>
    ${items}
  </section>`;
}

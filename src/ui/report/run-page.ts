import { withProgramName } from '../../wording.js';
import { version } from '../../version.js';
import { grouped, formatMs, formatDuration } from '../format.js';
import { recordRate, summaryFigures, verdict, type Figure } from '../summary.js';
import { runCharts } from './charts.js';
import { figureTable, figureTiles, html, pageShell, type Html } from './html.js';
import { outcomeBar, changeBar, dayBar, verifyBar, rejectSection } from './outcomes.js';
import type { RunReport } from './run-report.js';

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

const wanted: ReadonlySet<Figure['name']> = new Set([
  ...(['accepted', 'rejected', 'unknown', 'notSent', 'records', 'pages', 'rate'] as const),
  ...(['checked', 'same', 'different', 'missing'] as const),
]);

/** The main figures. Of zero counts only the rejects are shown. */
function tiles({ summary, history: { throttled, latency } }: RunReport): Html {
  const rate = { label: 'records/s', value: recordRate(summary) ?? '' };
  return figureTiles([
    ...summaryFigures(summary)
      .filter(({ name, isZero }) => wanted.has(name) && (!isZero || name === 'rejected'))
      .map((figure) => (figure.name === 'rate' ? rate : figure)),
    { label: 'requests', value: grouped(summary.requests) },
    { label: 'answered by 429', value: grouped(throttled) },
    ...(latency ? [{ label: 'median request', value: formatMs(latency.p50) }] : []),
  ]);
}

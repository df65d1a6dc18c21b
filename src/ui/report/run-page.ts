import { asCalled } from '../../wording.js';
import { version } from '../../version.js';
import { grouped, msText, secondsText } from '../format.js';
import { verdict, summaryFigures } from '../summary.js';
import { charts } from './charts.js';
import { figureTable, figureTiles, html, reportShell, type Html } from './html.js';
import { outcomes, plan, days, verified, rejects } from './outcomes.js';
import type { RunReport } from './run-report.js';

/** One page about a run, as HTML that needs nothing besides. */
export function reportPage(report: RunReport): string {
  const { summary, ended } = report;
  const title = `${summary.command}: ${verdict(summary)}`;
  const { exitCode, seconds } = summary;
  const tone = exitCode === 0 ? 'good' : exitCode === 3 ? 'warn' : 'bad';
  const times = `${time(ended - seconds * 1000)} to ${time(ended)} UTC, ${secondsText(seconds)}`;
  const body = html`<main>
    <header>
      <h1>engagectl ${summary.command}</h1>
      <span class="badge ${tone}">${verdict(summary)}</span>
    </header>
    <p class="dim">${times}</p>
    ${whatNext(report)} ${tiles(report)} ${outcomes(report)} ${verified(report)} ${days(report)}
    ${plan(report)} ${charts(report)} ${rejects(report)}
    <h2>Summary</h2>
    ${figureTable([['command', ['engagectl', ...report.argv].join(' ')], ...summaryFigures(summary)])}
    ${footer(report)}
  </main>`;
  return reportShell(title, body);
}

const time = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace('T', ' ').slice(0, 19);

/** What went wrong, and what to type. */
function whatNext({ error, next, program }: RunReport): Html | undefined {
  if (error === undefined && next === undefined) return undefined;
  const { why, fix } = error?.details ?? {};
  return html`<section class="card next ${error?.exitCode === 3 ? 'go' : ''}">
    ${error && html`<p><b>${error.message}</b> <span class="dim">${error.id}</span></p>`}
    ${why && html`<p>${why}</p>`} ${fix && html`<p>To do: ${asCalled(fix, program)}</p>`}
    ${
      next &&
      html`<p>This goes on with the run:</p>
        <pre>${asCalled(next, program)}</pre>`
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

const wanted = new Set(
  'accepted,rejected,unknown,not sent,records,pages,rate,checked,same,different,missing'.split(','),
);

/** The figures that a glance is for; of those that are 0, only the rejects. */
function tiles({ summary, history: { throttled, latency } }: RunReport): Html {
  const shown: (readonly [label: string, value: string])[] = [
    ...summaryFigures(summary)
      .filter(([label, value]) => wanted.has(label) && (value !== '0' || label === 'rejected'))
      .map(([label, value]) =>
        label === 'rate'
          ? (['records/s', value.replace(' records/s', '')] as const)
          : ([label, value] as const),
      ),
    ['requests', grouped(summary.requests)],
    ['answered by 429', grouped(throttled)],
    ...(latency ? [['median request', msText(latency.p50)] as const] : []),
  ];
  return figureTiles(shown);
}

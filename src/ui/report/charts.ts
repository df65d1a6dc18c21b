import type { HistoryFigures, Stretch } from '../../bulk/history.js';
import { grouped, msText, shortNumber } from '../figures.js';
import { chart, type Series } from './chart.js';
import { html, type Html } from './html.js';
import type { RunReport } from './run-report.js';

/** The run over time; instead a sentence where no request was made. */
export function charts({ history, summary }: RunReport): Html {
  if (history.latency === undefined) {
    return html`<h2>Over time</h2>
      <p class="dim">No request was made.</p>`;
  }
  const isExport = summary.records !== undefined;
  return html`<h2>Over time</h2>
    <div class="charts">
      ${throughput(history, isExport ? 'Records' : 'Accepted records')} ${latency(history)}
      ${inFlight(history)} ${failed(history)}
    </div>
    ${failures(history)} ${table(history)}`;
}

const perSecond = ({ stretchMs }: HistoryFigures, count: number): number =>
  (1000 * count) / stretchMs;

const spanOf = ({ stretchMs, stretches }: HistoryFigures): number =>
  (stretchMs * stretches.length) / 1000;

function throughput(history: HistoryFigures, name: string): Html {
  const values = history.stretches.map(({ records }) => perSecond(history, records));
  const all = history.stretches.reduce((sum, { records }) => sum + records, 0);
  const mean = (1000 * all) / Math.max(history.milliseconds, 1);
  return chart({
    title: `${name} per second`,
    words: `${grouped(Math.round(mean))} on average, at most ${grouped(Math.round(Math.max(...values)))}.`,
    series: [{ name: 'records/s', values, tone: 'main', shape: 'area' }],
    seconds: spanOf(history),
    format: shortNumber,
  });
}

function latency(history: HistoryFigures): Html {
  const { stretches } = history;
  const { mean = 0, p50 = 0, p95 = 0, p99 = 0, slowest = 0 } = history.latency ?? {};
  const answered = (value: (stretch: Stretch) => number) =>
    stretches.map((stretch) => (stretch.requests === 0 ? undefined : value(stretch)));
  const words = `Half of the requests took at most ${msText(p50)}, 95 % ${msText(p95)}, 99 % ${msText(p99)}; on average ${msText(mean)}, the slowest ${msText(slowest)}.`;
  return chart({
    title: 'Time of a request',
    words,
    series: [
      {
        name: 'slowest',
        values: answered(({ slowestMs }) => slowestMs),
        tone: 'soft',
        shape: 'line',
      },
      {
        name: 'mean',
        values: answered(({ latencyMs, requests }) => latencyMs / requests),
        tone: 'main',
        shape: 'line',
      },
    ],
    seconds: spanOf(history),
    format: msText,
  });
}

function inFlight(history: HistoryFigures): Html {
  const { throttled, mostInFlight } = history;
  const cuts =
    throttled === 0
      ? 'No request was answered by 429.'
      : `429 answers: ${grouped(throttled)}; a burst of them lowers it.`;
  return chart({
    title: 'Requests in flight',
    words: `At most ${mostInFlight}. ${cuts}`,
    series: [
      {
        name: 'in flight',
        values: history.stretches.map((stretch) => stretch.mostInFlight),
        tone: 'main',
        shape: 'area',
      },
    ],
    seconds: spanOf(history),
    format: shortNumber,
  });
}

/** Undefined when every request went well. */
function failed(history: HistoryFigures): Html | undefined {
  const { stretches, failures: kinds, throttled } = history;
  if (kinds.size === 0) return undefined;
  const count = [...kinds.values()].reduce((sum, one) => sum + one, 0);
  const all: Series = {
    name: 'failed',
    values: stretches.map((one) => one.throttled + one.failed),
    tone: 'bad',
    shape: 'bars',
  };
  const by429: Series = {
    name: 'by 429',
    values: stretches.map((one) => one.throttled),
    tone: 'warn',
    shape: 'bars',
  };
  return chart({
    title: 'Requests that failed',
    words: `${grouped(count)} of ${grouped(stretches.reduce((sum, { requests }) => sum + requests, 0))}.`,
    series: throttled === 0 ? [all] : [all, by429],
    seconds: spanOf(history),
    format: shortNumber,
  });
}

function failures({ failures: kinds }: HistoryFigures): Html | undefined {
  if (kinds.size === 0) return undefined;
  const rows = [...kinds]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => html`<li>${name}: ${grouped(count)}</li>`);
  return html`<ul class="keys dim">
    ${rows}
  </ul>`;
}

/** The same in numbers. */
function table(history: HistoryFigures): Html {
  const rows = history.stretches.map((stretch, index) => {
    const { records, requests, latencyMs, mostInFlight, throttled, failed: others } = stretch;
    const cells = [
      ((index * history.stretchMs) / 1000).toFixed(2),
      grouped(records),
      grouped(requests),
      requests === 0 ? '' : msText(latencyMs / requests),
      grouped(mostInFlight),
      grouped(throttled),
      grouped(others),
    ];
    return html`<tr>
      ${cells.map((cell) => html`<td class="num">${cell}</td>`)}
    </tr>`;
  });
  const heads = [
    'from s',
    'records',
    'requests',
    'mean time',
    'in flight',
    '429',
    'other failures',
  ];
  return html`<details>
    <summary>The figures of the charts</summary>
    <div class="wide">
      <table>
        <thead>
          <tr>
            ${heads.map((head) => html`<th class="num" scope="col">${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </details>`;
}

import { grouped, msText, shortNumber } from '../format.js';
import { chart, type Chart, type Series } from './chart.js';
import { rowTable } from './figures-shown.js';
import { html, type Html } from './html.js';
import type { HistoryFigures } from '../../jobs/job-results.js';
import type { RunReport } from './run-report.js';

type Stretch = HistoryFigures['stretches'][number];

/** The run over time; instead a sentence where no request was made. */
export function charts({ history, summary }: RunReport): Html {
  if (history.latency === undefined) {
    return html`<h2>Over time</h2>
      <p class="dim">No request was made.</p>`;
  }
  const name = namesOf(summary);
  const all = [
    throughput(history, name),
    latency(history, history.latency),
    inFlight(history),
    ...(history.failures.size === 0 ? [] : [failed(history)]),
  ];
  const seconds = (history.stretchMs * history.stretches.length) / 1000;
  return html`<h2>Over time</h2>
    <div class="charts">${all.map((one) => chart(one, seconds))}</div>
    ${failures(history)} ${table(history)}`;
}

function namesOf({ records, proof }: RunReport['summary']): string {
  if (proof !== undefined) return 'Compared';
  return records === undefined ? 'Accepted records' : 'Records';
}

function throughput({ stretches, stretchMs, milliseconds }: HistoryFigures, name: string): Chart {
  const values = stretches.map(({ records }) => (1000 * records) / stretchMs);
  const mean = (1000 * sum(stretches.map(({ records }) => records))) / Math.max(milliseconds, 1);
  const most = Math.max(...values);
  return {
    title: `${name} per second`,
    words: `${grouped(Math.round(mean))} on average, at most ${grouped(Math.round(most))}.`,
    series: [{ name: 'records/s', values, tone: 'main', shape: 'area' }],
    format: shortNumber,
  };
}

function latency(
  { stretches }: HistoryFigures,
  { mean, p50, p95, p99, slowest }: NonNullable<HistoryFigures['latency']>,
): Chart {
  const answered = (value: (stretch: Stretch) => number) =>
    stretches.map((stretch) => (stretch.requests === 0 ? undefined : value(stretch)));
  const slowestOf = answered(({ slowestMs }) => slowestMs);
  const meanOf = answered(({ latencyMs, requests }) => latencyMs / requests);
  return {
    title: 'Time of a request',
    words: `Half of the requests took at most ${msText(p50)}, 95 % ${msText(p95)}, 99 % ${msText(p99)}; on average ${msText(mean)}, the slowest ${msText(slowest)}.`,
    series: [
      { name: 'slowest', values: slowestOf, tone: 'soft', shape: 'line' },
      { name: 'mean', values: meanOf, tone: 'main', shape: 'line' },
    ],
    format: msText,
  };
}

function inFlight({ throttled, mostInFlight, stretches }: HistoryFigures): Chart {
  const cuts =
    throttled === 0
      ? 'No request was answered by 429.'
      : `429 answers: ${grouped(throttled)}; a burst of them lowers it.`;
  const values = stretches.map((stretch) => stretch.mostInFlight);
  return {
    title: 'Requests in flight',
    words: `At most ${mostInFlight}. ${cuts}`,
    series: [{ name: 'in flight', values, tone: 'main', shape: 'area' }],
    format: shortNumber,
  };
}

function failed({ stretches, failures: kinds, throttled }: HistoryFigures): Chart {
  const all = stretches.map((one) => one.throttled + one.failed);
  const by429 = stretches.map((one) => one.throttled);
  const series: Series[] = [
    { name: 'failed', values: all, tone: 'bad', shape: 'bars' },
    { name: 'by 429', values: by429, tone: 'warn', shape: 'bars' },
  ];
  const requests = sum(stretches.map((one) => one.requests));
  return {
    title: 'Requests that failed',
    words: `${grouped(sum([...kinds.values()]))} of ${grouped(requests)}.`,
    series: throttled === 0 ? series.slice(0, 1) : series,
    format: shortNumber,
  };
}

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

function failures({ failures: kinds }: HistoryFigures): Html | undefined {
  if (kinds.size === 0) return undefined;
  const rows = [...kinds]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => html`<li>${name}: ${grouped(count)}</li>`);
  return html`<ul class="keys dim">
    ${rows}
  </ul>`;
}

const columns: readonly [head: string, cell: (one: Stretch) => string][] = [
  ['records', ({ records }) => grouped(records)],
  ['requests', ({ requests }) => grouped(requests)],
  ['mean time', ({ requests, latencyMs }) => (requests === 0 ? '' : msText(latencyMs / requests))],
  ['in flight', ({ mostInFlight }) => grouped(mostInFlight)],
  ['429', ({ throttled }) => grouped(throttled)],
  ['other failures', ({ failed: others }) => grouped(others)],
];

/** The same in numbers. */
function table({ stretches, stretchMs }: HistoryFigures): Html {
  const heads = ['from s', ...columns.map(([head]) => head)];
  const rows = stretches.map((stretch, index) => [
    ((index * stretchMs) / 1000).toFixed(2),
    ...columns.map(([, cell]) => cell(stretch)),
  ]);
  return html`<details>
    <summary>The figures of the charts</summary>
    <div class="wide">${rowTable(heads, rows, 'num')}</div>
  </details>`;
}

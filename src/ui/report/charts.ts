import { grouped, msText, shortNumber } from '../figures.js';
import { chart, type Chart, type Series } from './chart.js';
import { html, type Html } from './html.js';
import type { RunHistory, RunReport, Stretch } from './run-report.js';

/** The run over time; instead a sentence where no request was made. */
export function charts({ history, summary }: RunReport): Html {
  if (history.latency === undefined) {
    return html`<h2>Over time</h2>
      <p class="dim">No request was made.</p>`;
  }
  const name = summary.records === undefined ? 'Accepted records' : 'Records';
  const drawn = [throughput(history, name), latency(history), inFlight(history), failed(history)];
  const seconds = (history.stretchMs * history.stretches.length) / 1000;
  return html`<h2>Over time</h2>
    <div class="charts">${drawn.map((one) => one && chart({ ...one, seconds }))}</div>
    ${failures(history)} ${table(history)}`;
}

type Drawn = Omit<Chart, 'seconds'>;

function throughput({ stretches, stretchMs, milliseconds }: RunHistory, name: string): Drawn {
  const values = stretches.map(({ records }) => (1000 * records) / stretchMs);
  const mean = (1000 * sum(stretches, ({ records }) => records)) / Math.max(milliseconds, 1);
  return {
    title: `${name} per second`,
    words: `${grouped(Math.round(mean))} on average, at most ${grouped(Math.round(Math.max(...values)))}.`,
    series: [{ name: 'records/s', values, tone: 'main', shape: 'area' }],
    format: shortNumber,
  };
}

function latency({ stretches, latency: times }: RunHistory): Drawn {
  const { mean = 0, p50 = 0, p95 = 0, p99 = 0, slowest = 0 } = times ?? {};
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

function inFlight({ throttled, mostInFlight, stretches }: RunHistory): Drawn {
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

/** Undefined when every request went well. */
function failed({ stretches, failures: kinds, throttled }: RunHistory): Drawn | undefined {
  if (kinds.size === 0) return undefined;
  const count = sum([...kinds.values()], (one) => one);
  const all = stretches.map((one) => one.throttled + one.failed);
  const by429 = stretches.map((one) => one.throttled);
  const series: Series[] = [
    { name: 'failed', values: all, tone: 'bad', shape: 'bars' },
    { name: 'by 429', values: by429, tone: 'warn', shape: 'bars' },
  ];
  return {
    title: 'Requests that failed',
    words: `${grouped(count)} of ${grouped(sum(stretches, ({ requests }) => requests))}.`,
    series: throttled === 0 ? series.slice(0, 1) : series,
    format: shortNumber,
  };
}

const sum = <T>(all: readonly T[], value: (one: T) => number): number =>
  all.reduce((total, one) => total + value(one), 0);

function failures({ failures: kinds }: RunHistory): Html | undefined {
  if (kinds.size === 0) return undefined;
  const rows = [...kinds]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => html`<li>${name}: ${grouped(count)}</li>`);
  return html`<ul class="keys dim">
    ${rows}
  </ul>`;
}

/** The same in numbers. */
function table({ stretches, stretchMs }: RunHistory): Html {
  const columns: readonly [head: string, cell: (stretch: Stretch, index: number) => string][] = [
    ['from s', (_, index) => ((index * stretchMs) / 1000).toFixed(2)],
    ['records', ({ records }) => grouped(records)],
    ['requests', ({ requests }) => grouped(requests)],
    ['mean time', ({ requests: n, latencyMs }) => (n === 0 ? '' : msText(latencyMs / n))],
    ['in flight', ({ mostInFlight }) => grouped(mostInFlight)],
    ['429', ({ throttled }) => grouped(throttled)],
    ['other failures', (stretch) => grouped(stretch.failed)],
  ];
  const rows = stretches.map(
    (stretch, index) =>
      html`<tr>
        ${columns.map(([, cell]) => html`<td class="num">${cell(stretch, index)}</td>`)}
      </tr>`,
  );
  return html`<details>
    <summary>The figures of the charts</summary>
    <div class="wide">
      <table>
        <thead>
          <tr>
            ${columns.map(([head]) => html`<th class="num" scope="col">${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </details>`;
}

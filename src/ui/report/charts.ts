import { formatMs, formatDuration, grouped, shortNumber } from '../format.js';
import { html, rowTable, type Html } from './html.js';
import type { HistoryFigures } from '../../jobs/job-results.js';
import type { RunReport } from '../summary.js';

/** A series of a chart; undefined for missing values. */
interface Series {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
  /** Style sheet class that sets the color. */
  readonly tone: 'main' | 'soft' | 'warn' | 'bad';
  readonly shape: 'area' | 'line' | 'bars';
}

interface Chart {
  readonly title: string;
  /** Description for people who cannot see the chart. */
  readonly words: string;
  /** All of the same length. */
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const height = 100;

/**
 * Draws a chart over a number of seconds: values of equally long intervals, as steps. The drawing
 * stretches to any width; all text is beside it, so that it keeps its size.
 */
export function chart({ title, words, series, format }: Chart, seconds: number): Html {
  const count = series[0]?.values.length ?? 0;
  const top = niceCeiling(Math.max(...series.flatMap(({ values }) => values.map((v) => v ?? 0))));
  const ticks = [top, top / 2, 0].map((value) => html`<span>${format(value)}</span>`);
  const names = series.map(({ name, tone }) => html`<span><i class="${tone}"></i>${name}</span>`);
  const legend = series.length > 1 ? html`<span class="legend">${names}</span>` : undefined;
  return html`<figure class="chart card">
    <figcaption><b>${title}</b>${legend}</figcaption>
    <div class="plot">
      <div class="ticks" aria-hidden="true">${ticks}</div>
      <svg
        viewBox="0 0 ${count} ${height}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${`${title}: ${words}`}"
      >
        <path class="grid" d="M0 0H${count}M0 50H${count}M0 100H${count}" />
        ${series.map((one) => drawing(one, top))} ${Array.from({ length: count }, (_, x) => tip(x))}
      </svg>
      <div class="times" aria-hidden="true">
        <span>0</span><span>${timeText(seconds / 2)}</span><span>${timeText(seconds)}</span>
      </div>
    </div>
    <p class="words">${words}</p>
  </figure>`;

  /** Tooltip of an interval. */
  function tip(x: number): Html {
    const messages = series.flatMap(({ name, values: { [x]: value } }) =>
      value === undefined ? [] : [`${name} ${format(value)}`],
    );
    const text = `${timeText((seconds * x) / count)}: ${messages.join(', ') || 'nothing'}`;
    return html`<rect class="tip" x="${x}" width="1" height="${height}"
      ><title>${text}</title></rect
    >`;
  }
}

/** Draws a series; `top` is the value at the upper edge. */
function drawing({ values, tone, shape }: Series, top: number): Html {
  const y = (value: number) => Math.round((height - (value / top) * height) * 100) / 100;
  if (shape === 'bars') {
    const bars = values.map((value, x) =>
      value ? `M${x + 0.1} ${height}V${y(value)}h.8V${height}Z` : '',
    );
    return html`<path class="fill ${tone}" d="${bars.join('')}" />`;
  }
  const steps = values.map((value, x) => {
    if (value === undefined) return '';
    return values[x - 1] === undefined ? `M${x} ${y(value)}H${x + 1}` : `V${y(value)}H${x + 1}`;
  });
  const line = html`<path class="line ${tone}" d="${steps.join('')}" />`;
  if (shape === 'line') return line;
  const area = values.map((value, x) => `V${y(value ?? 0)}H${x + 1}`);
  return html`<path class="area ${tone}" d="M0 ${height}${area.join('')}V${height}Z" />${line}`;
}

/** Rounds up to 1, 2, 4 or 5 times a power of ten, so that halves are short numbers, too. */
function niceCeiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 5].find((factor) => factor * power >= value) ?? 10);
}

const timeText = (seconds: number): string =>
  seconds < 60 ? formatMs(seconds * 1000) : formatDuration(seconds);

type TimeSlot = HistoryFigures['stretches'][number];

/** Charts of the run over time; a sentence if no request was made. */
export function runCharts({ history, summary }: RunReport): Html {
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
  const answered = (value: (stretch: TimeSlot) => number) =>
    stretches.map((stretch) => (stretch.requests === 0 ? undefined : value(stretch)));
  const slowestOf = answered(({ slowestMs }) => slowestMs);
  const meanOf = answered(({ latencyMs, requests }) => latencyMs / requests);
  return {
    title: 'Time of a request',
    words: `Half of the requests took at most ${formatMs(p50)}, 95 % ${formatMs(p95)}, 99 % ${formatMs(p99)}; on average ${formatMs(mean)}, the slowest ${formatMs(slowest)}.`,
    series: [
      { name: 'slowest', values: slowestOf, tone: 'soft', shape: 'line' },
      { name: 'mean', values: meanOf, tone: 'main', shape: 'line' },
    ],
    format: formatMs,
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

const columns: readonly [head: string, cell: (one: TimeSlot) => string][] = [
  ['records', ({ records }) => grouped(records)],
  ['requests', ({ requests }) => grouped(requests)],
  [
    'mean time',
    ({ requests, latencyMs }) => (requests === 0 ? '' : formatMs(latencyMs / requests)),
  ],
  ['in flight', ({ mostInFlight }) => grouped(mostInFlight)],
  ['429', ({ throttled }) => grouped(throttled)],
  ['other failures', ({ failed: others }) => grouped(others)],
];

/** The values as a table. */
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

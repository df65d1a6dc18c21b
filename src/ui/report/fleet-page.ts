import { grouped, formatDuration, shortNumber } from '../format.js';
import { recordRate, summaryFigures, verdict, type Summary } from '../summary.js';
import { chart } from './charts.js';
import { figureTable, figureTiles, rowTable, html, pageShell, type Html } from './html.js';

/** A processed shard, with its worker and time. */
export interface ReportedShard {
  readonly shard: number;
  readonly worker: string;
  readonly records: number;
  readonly rejected: number;
  readonly requests: number;
  /** Number of 429 responses. */
  readonly throttled: number;
  /** Duration of its last worker. */
  readonly seconds: number;
  /** Epoch milliseconds. */
  readonly ended: number;
}

/** Number of intervals in the charts. */
const stretches = 60;

/** Builds the page about a fleet run: workers, shards, throughput, 429s. */
export function fleetPage(summary: Summary, shards: readonly ReportedShard[]): string {
  const { exitCode, command } = summary;
  const tone = exitCode === 0 ? 'good' : exitCode === 3 ? 'warn' : 'bad';
  const body = html`<main>
    <header>
      <h1>engagectl fleet: ${command}</h1>
      <span class="badge ${tone}">${verdict(summary)}</span>
    </header>
    ${tiles(summary, shards)}
    <h2>Over time</h2>
    <div class="charts">${charts(shards)}</div>
    <h2>Workers</h2>
    <div class="card">${rowTable(workerHeads, workerRows(shards))}</div>
    <h2>Shards</h2>
    <div class="card">${rowTable(shardHeads, shards.map(shardRow))}</div>
    <h2>Summary</h2>
    ${figureTable(summaryFigures(summary))}
    <footer>
      <p>
        Times are of the last worker of each shard; counts are of all. The page fetches nothing.
      </p>
    </footer>
  </main>`;
  return pageShell(`fleet: ${command}: ${verdict(summary)}`, body);
}

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

function tiles(summary: Summary, shards: readonly ReportedShard[]): Html {
  const records = sum(shards.map((one) => one.records));
  const workers = new Set(shards.map(({ worker }) => worker)).size;
  return figureTiles([
    { label: 'records', value: grouped(records) },
    { label: 'records/s', value: recordRate(summary) ?? '–' },
    { label: 'shards', value: grouped(shards.length) },
    { label: 'workers', value: grouped(workers) },
    { label: 'answered by 429', value: grouped(sum(shards.map(({ throttled }) => throttled))) },
  ]);
}

function spanOf(shards: readonly ReportedShard[]): { startedAt: number; seconds: number } {
  const startedAt = Math.min(...shards.map(({ ended, seconds }) => ended - 1000 * seconds));
  const ended = Math.max(...shards.map((one) => one.ended));
  return { startedAt, seconds: (ended - startedAt) / 1000 };
}

function charts(shards: readonly ReportedShard[]): Html[] {
  const { startedAt, seconds } = spanOf(shards);
  const stretch = Math.max((1000 * seconds) / stretches, 1);
  const throughput = Array.from({ length: stretches }, () => 0);
  const running = Array.from({ length: stretches }, () => 0);
  for (const { ended, seconds: lasted, records } of shards) {
    const from = (ended - 1000 * lasted - startedAt) / stretch;
    const to = Math.max((ended - startedAt) / stretch, from + 0.001);
    for (let at = Math.floor(from); at < Math.min(to, stretches); at += 1) {
      const share = (Math.min(to, at + 1) - Math.max(from, at)) / (to - from);
      throughput[at]! += (1000 * records * share) / stretch;
      running[at]! += Math.min(to, at + 1) - Math.max(from, at);
    }
  }
  const mostRunning = shortNumber(Math.round(10 * Math.max(...running)) / 10);
  return [
    chart(
      {
        title: 'Records per second',
        words: `At most ${grouped(Math.round(Math.max(...throughput)))}; those of a shard are drawn as if they came evenly.`,
        series: [{ name: 'records/s', values: throughput, tone: 'main', shape: 'area' }],
        format: shortNumber,
      },
      seconds,
    ),
    chart(
      {
        title: 'Shards at work',
        words: `At most ${mostRunning}, each with one request in flight.`,
        series: [{ name: 'shards', values: running, tone: 'main', shape: 'area' }],
        format: shortNumber,
      },
      seconds,
    ),
  ];
}

const workerHeads = ['worker', 'shards', 'records', 'requests', '429'];

function workerRows(shards: readonly ReportedShard[]): string[][] {
  const workers = [...new Set(shards.map(({ worker }) => worker))].toSorted();
  return workers.map((worker) => {
    const own = shards.filter((one) => one.worker === worker);
    const figures = (['records', 'requests', 'throttled'] as const).map((name) =>
      grouped(sum(own.map((one) => one[name]))),
    );
    return [worker, grouped(own.length), ...figures];
  });
}

const shardHeads = ['shard', 'worker', 'records', 'rejected', 'requests', '429', 'time'];

const shardRow = (one: ReportedShard): string[] => [
  String(one.shard),
  one.worker,
  grouped(one.records),
  grouped(one.rejected),
  grouped(one.requests),
  grouped(one.throttled),
  formatDuration(one.seconds),
];

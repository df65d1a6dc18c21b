// npm run bench [-- name…] [--size n] [--rounds n] [--against bin] [--write]; see bench/README.md.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cuids } from './cuids.js';
import { changed } from './changed.js';
import { concurrency } from './concurrency.js';
import { eventMemory } from './event-memory.js';
import { exportNdjson } from './export.js';
import { exportShapes } from './export-shapes.js';
import { service } from './figures.js';
import { journals } from './journal.js';
import { guardTable, judged } from './harness/guards.js';
import { machine, table } from './harness/report.js';
import { differentWork, runRounds } from './harness/rounds.js';
import { twins } from './harness/sides.js';
import { medians, replaceBetween, saveResults, writeReadmeTable } from './harness/results.js';
import { startUp } from './start-up.js';
import { uploadCsv, uploadCsvAt100ms, uploadNdjson } from './upload.js';

const benchmarks = [
  uploadCsv,
  uploadCsvAt100ms,
  uploadNdjson,
  concurrency,
  ...journals,
  changed,
  ...eventMemory,
  cuids,
  exportNdjson,
  exportShapes,
  ...startUp,
  service,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    size: { type: 'string' },
    rounds: { type: 'string' },
    against: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

/** Medians of the sides of each benchmark that ran, by its name. */
const results = {};
/** Results of the guards, in the order of the benchmarks. */
const guards = [];

await main();

async function main() {
  const names = benchmarks.map(({ name }) => name);
  const unknown = positionals.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`no benchmark ${unknown}; there are ${names.join(', ')}`);
  const chosen = benchmarks.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );

  const sections = [`Machine: ${machine()}`];
  console.log(sections[0]);
  for (const benchmark of chosen) {
    const section = await runBenchmark(benchmark);
    console.log(`\n${section}`);
    sections.push(section);
  }
  if (guards.length > 0) {
    sections.push(`### Guards\n\n${guardTable(guards)}`);
    console.log(`\n${sections.at(-1)}`);
    if (!guards.every(({ holds }) => holds)) process.exitCode = 1;
  }
  if (!values.write) return;
  await writeReadmeTable(saveResults(results));
  if (chosen.length < benchmarks.length) return;
  await replaceBetween('bench/README.md', 'results', sections.join('\n\n'));
}

/** Runs one benchmark in a folder of its own and returns its section of the report. */
async function runBenchmark(benchmark) {
  const { name, question } = benchmark;
  const folder = mkdtempSync(join(tmpdir(), 'engagectl-bench-'));
  const size = Number(values.size ?? benchmark.size);
  try {
    showProgress(name);
    const body = await bodyOf(benchmark, { size, folder });
    showProgress('');
    return `### ${name}\n\n${question}\n\n${body}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A benchmark compares sides, or lists figures, or writes a report. */
async function bodyOf(benchmark, place) {
  if (benchmark.open) return compare(benchmark, place);
  if (benchmark.figures) {
    const lines = benchmark.figures(place);
    return lines.map((line) => `- ${line}`).join('\n');
  }
  const rounds = values.rounds && Number(values.rounds);
  const report = await benchmark.report({ ...place, rounds, progress: showProgress });
  guards.push(...(report.guards ?? []));
  return report.text;
}

/** Runs the sides of a benchmark in turn and returns their table. */
async function compare(benchmark, { size, folder }) {
  const { rounds: usualRounds = 5, open } = benchmark;
  const rounds = Number(values.rounds ?? usualRounds);
  const bench = await open({ size, folder });
  if (values.against) bench.sides.push(...twins(bench.sides, resolve(values.against)));
  try {
    const sides = await runRounds({ ...bench, rounds, folder, progress: showProgress });
    if (sides.some((side) => differentWork(sides[0], side))) process.exitCode = 1;
    guards.push(...judged(benchmark.guards ?? [], sides));
    results[benchmark.name] = medians(sides, { records: bench.records, rounds });
    const records = bench.records ? `${bench.records.toLocaleString('en-US')} records, ` : '';
    return `${records}${rounds} rounds.\n\n${table({ results: sides, ...bench })}`;
  } finally {
    await bench[Symbol.asyncDispose]();
  }
}

function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

// npm run bench [-- name…] [--size n] [--rounds n] [--against bin] [--save]; see bench/README.md.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cuids } from './cuids.js';
import { changed } from './changed.js';
import { concurrency } from './concurrency.js';
import { exportCsv, exportFile, exportNdjson } from './export.js';
import { exportShapes } from './export-shapes.js';
import { calling, service, stages } from './figures.js';
import { growth } from './growth.js';
import { journals } from './journal.js';
import { guardTable, judged } from './harness/guards.js';
import { machine, table } from './harness/report.js';
import { differentWork, runRounds } from './harness/rounds.js';
import { twins } from './harness/sides.js';
import { startUp } from './start-up.js';
import { uploadCsv, uploadNdjson } from './upload.js';

const benchmarks = [
  uploadCsv,
  uploadNdjson,
  concurrency,
  ...journals,
  changed,
  cuids,
  exportNdjson,
  exportCsv,
  exportFile,
  exportShapes,
  ...startUp,
  stages,
  service,
  calling,
  growth,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    size: { type: 'string' },
    rounds: { type: 'string' },
    against: { type: 'string' },
    save: { type: 'boolean', default: false },
  },
});

/** What each benchmark said of its guards, in the order in which they ran. */
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
  const charts = {};
  console.log(sections[0]);
  for (const benchmark of chosen) {
    const section = await runBenchmark(benchmark, charts);
    console.log(`\n${section}`);
    sections.push(section);
  }
  if (guards.length > 0) {
    sections.push(`### Guards\n\n${guardTable(guards)}`);
    console.log(`\n${sections.at(-1)}`);
    if (!guards.every(({ holds }) => holds)) process.exitCode = 1;
  }
  if (!values.save) return;
  await saveToReadme(sections.join('\n\n'));
  saveCharts(charts);
}

/** Runs one benchmark in a folder of its own and returns its section of the report; adds to `charts`. */
async function runBenchmark(benchmark, charts) {
  const { name, question } = benchmark;
  const folder = mkdtempSync(join(tmpdir(), 'engagectl-bench-'));
  const size = Number(values.size ?? benchmark.size);
  try {
    showProgress(name);
    const body = await bodyOf(benchmark, { size, folder }, charts);
    showProgress('');
    return `### ${name}\n\n${question}\n\n${body}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A benchmark compares sides, or lists figures, or writes a report with charts. */
async function bodyOf(benchmark, place, charts) {
  if (benchmark.open) return compare(benchmark, place);
  if (benchmark.figures) {
    const lines = benchmark.figures(place);
    return lines.map((line) => `- ${line}`).join('\n');
  }
  const rounds = values.rounds && Number(values.rounds);
  const report = await benchmark.report({ ...place, rounds, progress: showProgress });
  Object.assign(charts, report.charts);
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
    const results = await runRounds({ ...bench, rounds, folder, progress: showProgress });
    if (results.some((result) => differentWork(results[0], result))) process.exitCode = 1;
    guards.push(...judged(benchmark.guards ?? [], results));
    const records = bench.records ? `${bench.records.toLocaleString('en-US')} records, ` : '';
    return `${records}${rounds} rounds.\n\n${table({ results, ...bench })}`;
  } finally {
    await bench[Symbol.asyncDispose]();
  }
}

function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

async function saveToReadme(text) {
  const { format, resolveConfig } = await import('prettier');
  const path = fileURLToPath(new URL('README.md', import.meta.url));
  const marked = /(<!-- results -->\n)[^]*(\n<!-- end of results -->)/;
  const readme = readFileSync(path, 'utf8');
  const changed = readme.replace(marked, (_, start, end) => `${start}\n${text}\n${end}`);
  const options = await resolveConfig(path);
  writeFileSync(path, await format(changed, { ...options, parser: 'markdown' }));
}

function saveCharts(charts) {
  const folder = fileURLToPath(new URL('charts/', import.meta.url));
  mkdirSync(folder, { recursive: true });
  for (const [name, svg] of Object.entries(charts)) writeFileSync(join(folder, `${name}.svg`), svg);
}

// The figures of the last run (bench/results.json), and the tables of the README and docs/scale.md that are made of them.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machine, markdownTable, median } from './report.js';

const root = new URL('../../', import.meta.url);
const file = new URL('bench/results.json', root);

/** Returns the medians of all sides of a benchmark: seconds and MiB. */
export const medians = (sides, about) => ({
  ...about,
  machine: machine(),
  sides: sides.map(({ side: { name }, runs }) => ({
    name,
    wall: rounded(median(runs.map((run) => run.wall))),
    cpu: rounded(median(runs.map((run) => run.cpu))),
    peakMiB: Math.round(median(runs.map((run) => run.peakBytes)) / 2 ** 20),
  })),
});

export const rounded = (seconds) => Number(seconds.toFixed(2));

/** Adds the benchmarks of this run to the file; returns the figures of all. */
export function saveResults(results) {
  const all = { ...readResults(), ...results };
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
  return all;
}

function readResults() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw error;
  }
}

/** Returns the table of the README: the same upload at a near and at a distant service. */
export function readmeTable(results) {
  const rows = [
    ['at once', results['upload-csv']],
    ['after 100 ms', results['upload-csv-100ms']],
  ].flatMap(([answers, { sides }]) =>
    sides.map(({ name, wall, cpu, peakMiB }) => [
      name,
      answers,
      `${wall.toFixed(2)} s`,
      `${cpu.toFixed(2)} s`,
      `${peakMiB} MiB`,
      name === sides[0].name ? '' : (wall / sides[0].wall).toFixed(1),
    ]),
  );
  const head = ['', 'answers', 'wall', 'CPU', 'peak memory', 'wall ÷ ours'];
  const { records, rounds, machine: where } = results['upload-csv'];
  const about = `${grouped(records)} user profiles from a CSV, medians of ${rounds} rounds (${where}).`;
  return `${about}\n\n${markdownTable(head, rows)}`;
}

/** Returns the figures of docs/scale.md: shards and fleets beside one process. */
export function fleetFigures({ machine: where, records, inFlight, passes, walls, ...measured }) {
  const passRows = passes.flatMap(({ format, records: count, megabytes, shards }) =>
    shards.map(({ shard, cpu }) => [
      `${format}, ${grouped(count)} records, ${megabytes} MB: \`--check${shard && ` --shard ${shard}`}\``,
      cpu.toFixed(2),
      Math.round(megabytes / cpu),
    ]),
  );
  const wallRows = walls.map(({ latencyMs, seconds }) => [
    `${latencyMs} ms`,
    ...seconds.map((wall) => wall.toFixed(2)),
  ]);
  const sides = ['one process', '1 worker', '2 workers', '4 workers'];
  return [
    `Measured in one run (${where}).`,
    markdownTable(['one pass, nothing sent; start-up left out', 'CPU, s', 'MB/s'], passRows),
    `Wall time in seconds of ${grouped(records)} records with ${inFlight} requests in flight, by the time that an answer takes:`,
    markdownTable(['an answer takes', ...sides], wallRows),
    `A job of the queue cost ${measured.jobMs} ms in addition to its records. Another worker resumed a shard ${measured.recoverySeconds} s after its worker was killed, with a lease of 10 s.`,
  ].join('\n\n');
}

const grouped = (count) => count.toLocaleString('en-US');

export const writeReadmeTable = (results) =>
  replaceBetween('README.md', 'benchmarks', readmeTable(results));

/** Replaces the text between `<!-- name -->` and `<!-- end of name -->` in a Markdown file. */
export async function replaceBetween(markdown, name, text) {
  const { format, resolveConfig } = await import('prettier');
  const path = fileURLToPath(new URL(markdown, root));
  const marked = new RegExp(`(<!-- ${name} -->\\n)[^]*(\\n<!-- end of ${name} -->)`);
  const changed = readFileSync(path, 'utf8').replace(
    marked,
    (_, start, end) => `${start}\n${text}\n${end}`,
  );
  const options = await resolveConfig(path);
  writeFileSync(path, await format(changed, { ...options, parser: 'markdown' }));
}

// Question: what does an upload cost as work grows: in rows, in requests in flight, in repeated identities?
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomOf } from '../fixtures/random.js';
import { writeProfilesCsv } from './data.js';
import { lineChart } from './harness/chart.js';
import { measure } from './harness/measure.js';
import { markdownTable, median } from './harness/report.js';
import { startServer } from './harness/server.js';
import { engagectl } from './harness/sides.js';

const fullSize = 10_000_000;
const chunk = 1000;
const sinkProgram = fileURLToPath(new URL('harness/sink.js', import.meta.url));

export const growth = {
  name: 'growth',
  question: 'an upload of a CSV of 12 columns, as work grows',
  size: fullSize,
  async report(bench) {
    const parts = [await rows(bench), await inFlight(bench), await repeats(bench)];
    return {
      text: parts.map(({ text }) => text).join('\n\n'),
      charts: Object.assign({}, ...parts.map(({ charts }) => charts)),
    };
  },
};

/** Wall, memory and speed from a thousandth of `size` rows on; the largest is measured once. */
async function rows({ size, folder, progress }) {
  const results = [];
  for (const count of [size / 1000, size / 100, size / 10, size]) {
    const input = join(folder, 'rows.csv');
    progress(`growth: writing ${count} rows`);
    writeProfilesCsv(input, count);
    const runs = [];
    for (let round = 0; round < (count === size ? 1 : 3); round++) {
      progress(`growth: ${count} rows, round ${round + 1}`);
      runs.push(await upload({ input, folder, records: count, flags: ['--concurrency', '8'] }));
    }
    const wall = median(runs.map((run) => run.wall));
    const peak = Math.max(...runs.map((run) => run.peakBytes)) / 2 ** 20;
    results.push({ count, wall, cpu: median(runs.map((run) => run.cpu)), peak });
  }
  const points = (value) => results.map((result) => [result.count, value(result)]);
  const x = { label: 'rows', log: true };
  return {
    text: `#### Rows\n\n8 in flight, to a counting sink; medians of 3, the last of 1.\n\n${markdownTable(
      ['rows', 'wall s', 'CPU s', 'peak MiB', 'records/s'],
      results.map(({ count, wall, cpu, peak }) => [
        grouped(count),
        wall.toFixed(2),
        cpu.toFixed(2),
        peak.toFixed(0),
        grouped(count / wall),
      ]),
    )}\n\n![wall time by rows](charts/rows-wall.svg) ![memory by rows](charts/rows-memory.svg)`,
    charts: {
      'rows-wall': lineChart({
        title: 'Wall time, seconds',
        x,
        y: { label: 's', log: true },
        lines: [{ name: 'upload', points: points(({ wall }) => wall) }],
      }),
      'rows-memory': lineChart({
        title: 'Peak memory, MiB',
        x,
        y: { label: 'MiB', from: 0 },
        lines: [{ name: 'upload', points: points(({ peak }) => peak) }],
      }),
    },
  };
}

const flights = [1, 2, 4, 8, 15];
/** Milliseconds of the service, and how many requests each of those in flight makes one after the other. */
const latencies = { 0: 20, 50: 60, 300: 20 };

/** Records a second by requests in flight, beside what the service's latency allows. */
async function inFlight({ size, folder, progress }) {
  const results = [];
  for (const [latency, turns] of Object.entries(latencies)) {
    for (const flight of flights) {
      progress(`growth: ${flight} in flight, ${latency} ms`);
      const requests = flight * Math.max(2, Math.round((turns * size) / fullSize));
      const input = join(folder, 'flight.csv');
      writeProfilesCsv(input, requests * chunk);
      const flags = ['--concurrency', String(flight)];
      const records = requests * chunk;
      const { busy } = await upload({ input, folder, records, flags, latency });
      const ceiling = latency === '0' ? undefined : (flight * chunk * 1000) / Number(latency);
      results.push({ latency, flight, speed: records / busy, ceiling });
    }
  }
  const of = (latency) => results.filter((result) => result.latency === latency);
  const table = flights.map((flight) => [
    flight,
    ...Object.keys(latencies).flatMap((latency) => {
      const { speed, ceiling } = of(latency).find((result) => result.flight === flight);
      return ceiling
        ? [grouped(speed), `${((100 * speed) / ceiling).toFixed(0)} %`]
        : [grouped(speed)];
    }),
  ]);
  return {
    text:
      '#### Requests in flight\n\nRecords a second from the arrival of the first request to the last answer; the ' +
      'ceiling is in flight × 1000 records ÷ latency of the service.\n\n' +
      markdownTable(
        ['in flight', 'at 0 ms', 'at 50 ms', 'of the ceiling', 'at 300 ms', 'of the ceiling'],
        table,
      ) +
      '\n\n![speed by requests in flight](charts/in-flight.svg)',
    charts: {
      'in-flight': lineChart({
        title: 'Records a second; dashed: the ceiling',
        x: { label: 'requests in flight', log: true, ticks: flights },
        y: { label: 'records/s', log: true },
        lines: Object.keys(latencies).flatMap((latency) => speedAndCeiling(latency, of(latency))),
      }),
    },
  };
}

/** The line of one latency, and its ceiling where there is one. */
function speedAndCeiling(latency, results) {
  const points = (key) => results.map((result) => [result.flight, result[key]]);
  const speed = { name: `${latency} ms`, points: points('speed') };
  if (latency === '0') return [speed];
  return [speed, { name: '', dashed: true, points: points('ceiling') }];
}

const shares = [0, 25, 50, 75, 90, 100];

/** Records a second by the share of rows whose identity came before. Of 100 %, each waits for the one before. */
async function repeats({ size, folder, progress }) {
  const results = [];
  for (const share of shares) {
    progress(`growth: ${share} % repeated`);
    const records = Math.max(100, size / (share === 100 ? 2000 : 50));
    const input = join(folder, 'repeats.csv');
    writeRepeats(input, records, share);
    const { busy, requests } = await upload({
      input,
      folder,
      records,
      flags: ['--concurrency', '8'],
    });
    results.push({ share, speed: records / busy, perRequest: records / requests });
  }
  return {
    text:
      '#### Repeated identities\n\nRows whose identity came before, any of the earlier ones; 8 in flight. Two records of ' +
      'one identity never share a request, nor are they in flight together.\n\n' +
      markdownTable(
        ['repeated', 'records/s', 'records a request'],
        results.map(({ share, speed, perRequest }) => [
          `${share} %`,
          grouped(speed),
          perRequest.toFixed(0),
        ]),
      ) +
      '\n\n![speed by repeated identities](charts/repeats.svg)',
    charts: {
      repeats: lineChart({
        title: 'Records a second by repeated identities',
        x: { label: '% repeated', ticks: shares },
        y: { label: 'records/s', log: true },
        lines: [{ name: 'upload', points: results.map(({ share, speed }) => [share, speed]) }],
      }),
    },
  };
}

/** Each row but the first has, with the probability `share` %, the identity of a row before it. */
function writeRepeats(path, records, share) {
  const random = randomOf(20261002);
  const file = openSync(path, 'w');
  let different = 0;
  let text = 'identity,Name,City,Points\n';
  for (let n = 0; n < records; n++) {
    const isRepeated = different > 0 && random.below(100) < share;
    const identity = isRepeated ? random.below(different) : different++;
    text += `user-${identity},Name of ${identity},Oslo,${n}\n`;
    if (text.length > 1 << 20 || n === records - 1) {
      writeSync(file, text);
      text = '';
    }
  }
  closeSync(file);
}

/**
 * One upload: what the process used, how many requests came, and the seconds from the arrival of the
 * first one to the last answer. Throws when other than `records` records arrived.
 */
async function upload({ input, folder, records, flags, latency = '0' }) {
  const sink = await startServer(sinkProgram, latency);
  try {
    const side = engagectl(['upload', input, '--quiet', ...flags], { url: sink.url, folder });
    const usage = await measure({ ...side, folder });
    const { firstAt, lastAt, ...arrived } = await sink.arrived();
    if (arrived.records !== records) throw new Error(`${arrived.records} of ${records} arrived`);
    return { ...usage, ...arrived, busy: lastAt - firstAt };
  } finally {
    await sink[Symbol.asyncDispose]();
  }
}

const grouped = (value) => Math.round(value).toLocaleString('en-US');

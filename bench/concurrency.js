// Question: how close to the limit of the service does an upload come, alone and beside another one?
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeProfilesCsv } from './data.js';
import { measure } from './harness/measure.js';
import { markdownTable, median } from './harness/report.js';
import { startServer } from './harness/server.js';
import { engagectl } from './harness/sides.js';

const latencyMs = 100;
const limit = 15;

export const concurrency = {
  name: 'concurrency-100ms',
  question: `uploads with --concurrency auto at a service that takes ${latencyMs} ms and answers 429 beyond ${limit} requests in flight`,
  size: 1_000_000,
  async report({ size, rounds = 3, folder, progress }) {
    const files = ['a.csv', 'b.csv'].map((name) => join(folder, name));
    writeProfilesCsv(files[0], size);
    copyFileSync(...files);
    const sink = await startServer(
      fileURLToPath(new URL('harness/sink.js', import.meta.url)),
      latencyMs,
      limit,
    );
    const upload = async (file) => {
      const place = `${file}.place`;
      mkdirSync(place, { recursive: true });
      const side = engagectl(['upload', file, '--json'], { url: sink.url, folder: place });
      return measure({ ...side, folder: place });
    };
    const runs = { one: [], inTurn: [], together: [] };
    const seen = [];
    try {
      for (let round = 0; round < rounds; round += 1) {
        progress(`round ${round + 1} of ${rounds}`);
        await sink.reset();
        const first = await upload(files[0]);
        runs.one.push(first.wall);
        runs.inTurn.push(first.wall + (await upload(files[1])).wall);
        await arrivals(sink, 2 * size);
        await sink.reset();
        const started = performance.now();
        await Promise.all(files.map(upload));
        runs.together.push((performance.now() - started) / 1000);
        seen.push(await arrivals(sink, 2 * size));
      }
    } finally {
      await sink[Symbol.asyncDispose]();
    }
    return reportOf(runs, seen, { size, rounds });
  },
};

/** Every record arrives once: the service processes nothing that it answers with 429. */
async function arrivals(sink, expected) {
  const seen = await sink.arrived();
  if (seen.records !== expected) throw new Error(`${seen.records} of ${expected} records arrived`);
  return seen;
}

function reportOf({ one, inTurn, together }, seen, { size, rounds }) {
  const floor = Math.ceil(size / 1000 / limit) * (latencyMs / 1000);
  const ratio = median(together.map((wall, round) => wall / inTurn[round]));
  const text = (values) =>
    `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
  const rows = [
    ['one upload', text(one), (median(one) / floor).toFixed(2)],
    ['two, one after the other', text(inTurn), (median(inTurn) / floor / 2).toFixed(2)],
    ['two at once', text(together), (median(together) / floor / 2).toFixed(2)],
  ];
  const throttled = median(seen.map((each) => each.throttled));
  const head = ['', 'wall s', '÷ floor'];
  const about = `${size.toLocaleString('en-US')} records each, ${rounds} rounds; floor: ${floor.toFixed(1)} s with ${limit} requests always in flight. Two at once were answered 429 ${throttled} times.`;
  return {
    text: `${about}\n\n${markdownTable(head, rows)}`,
    guards: [
      { what: 'upload at 100 ms ÷ floor', most: 1.12, value: median(one) / floor },
      { what: 'two uploads at once ÷ one after the other', most: 1.1, value: ratio },
    ].map((guard) => ({ ...guard, holds: guard.value <= guard.most })),
  };
}

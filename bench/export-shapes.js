// Question: does an export stay fast whatever its records look like, and as CSV too?
import { fileURLToPath } from 'node:url';
import { judged } from './harness/guards.js';
import { markdownTable, median } from './harness/report.js';
import { differentWork, runRounds } from './harness/rounds.js';
import { startServer } from './harness/server.js';
import { engagectl, peer, program } from './harness/sides.js';
import { recordShapes } from './shapes.js';

const range = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-14', '--quiet'];

export const exportShapes = {
  name: 'export-shapes',
  question:
    'records of six shapes, written to standard output as NDJSON and as CSV with the union of all columns, compared with only receiving them and with Python (json and csv modules, columns of the first page)',
  /** Megabytes of records of each shape. */
  size: 250,
  async report({ size, rounds = 3, folder, progress }) {
    const rows = [];
    const guards = [];
    for (const shape of Object.keys(recordShapes)) {
      const results = await resultsOf(shape, { size, rounds, folder, progress });
      rows.push([shape, ...rowOf(results)]);
      guards.push(...judged(guardsOf(shape), results));
    }
    const head = ['', 'NDJSON s', '÷ discard', 'CSV s', '÷ NDJSON', '÷ Python', 'peak MiB'];
    return { text: `${size} MB each, ${rounds} rounds.\n\n${markdownTable(head, rows)}`, guards };
  },
};

async function resultsOf(shape, { size, rounds, folder, progress }) {
  const pageServer = fileURLToPath(new URL('harness/page-server.js', import.meta.url));
  const server = await startServer(pageServer, `${size}MB`, shape);
  try {
    const { url } = server;
    const ours = (format) =>
      engagectl(['export-profiles', ...range, `--format=${format}`], {
        url,
        folder,
        name: `${shape}: ${format}`,
      });
    const results = await runRounds({
      sides: [
        ours('ndjson'),
        ours('csv'),
        peer(`${shape}: discard`, program('export-floor.js', url), 'floor'),
        peer(`${shape}: Python`, program('export-csv.py', url), 'floor'),
      ],
      async watch(_, run) {
        await server.reset();
        await run();
        return server.arrived();
      },
      rounds,
      folder,
      progress,
    });
    const different = results.map((result) => differentWork(results[0], result)).find(Boolean);
    if (different !== undefined) throw new Error(`${shape}: ${different}`);
    return results;
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

const guardsOf = (shape) => [
  {
    what: `${shape}: NDJSON ÷ discard`,
    of: `${shape}: ndjson`,
    to: `${shape}: discard`,
    most: 1.6,
  },
  { what: `${shape}: CSV ÷ NDJSON`, of: `${shape}: csv`, to: `${shape}: ndjson`, most: 3 },
  { what: `${shape}: CSV ÷ Python`, of: `${shape}: csv`, to: `${shape}: Python`, most: 0.25 },
  { what: `${shape}: CSV, peak MiB`, of: `${shape}: csv`, key: 'peakBytes', most: 191 },
];

function rowOf([ndjson, csv, discard, python]) {
  const wall = ({ runs }) => median(runs.map((run) => run.wall)).toFixed(2);
  const ratio = (one, other) =>
    median(one.runs.map((run, n) => run.wall / other.runs[n].wall)).toFixed(2);
  const peak = Math.max(...[ndjson, csv].flatMap(({ runs }) => runs.map((run) => run.peakBytes)));
  return [
    wall(ndjson),
    ratio(ndjson, discard),
    wall(csv),
    ratio(csv, ndjson),
    ratio(csv, python),
    (peak / 2 ** 20).toFixed(0),
  ];
}

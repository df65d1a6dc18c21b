// Question: how fast do the pages of an export become records, compared with only receiving them?
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Digest } from './harness/digest.js';
import { engagectl, peer, program } from './harness/sides.js';
import { startServer } from './harness/server.js';

const perPage = 4991;

const python = 'Python: http.client + json, NDJSON';
const floor = 'floor: undici, receive and discard';

export const exportNdjson = exportBenchmark({
  name: 'export-ndjson',
  question: 'pages of 4,991 user profiles (about 7 MB each) to NDJSON on standard output',
  ours: [[]],
  peers: [
    [python, 'export.py'],
    ['undici + JSON.parse + JSON.stringify', 'export-node.js'],
  ],
  digestOf: digestOfLines,
  guards: [
    { what: 'export to NDJSON ÷ receive and discard', to: 'floor', most: 1.6 },
    { what: 'export to NDJSON: peak MiB', key: 'peakBytes', most: 191 },
  ],
});

export const exportCsv = exportBenchmark({
  name: 'export-csv',
  question: 'the same pages to CSV on standard output: all columns, then two of them',
  ours: [['--format=csv'], ['--format=csv', '--columns=identity,profileData.City']],
  peers: [[python, 'export.py']],
  digestOf: () => ({}),
});

export const exportFile = exportBenchmark({
  name: 'export-file',
  question: 'the same pages to files, each page synced so that it can be resumed after any crash',
  ours: [['.ndjson'], ['.csv']].map(([extension]) => ({ folder }) => [
    '--overwrite',
    '--fresh',
    `--output=${folder}/export${extension}`,
  ]),
  peers: [],
  digestOf: () => ({}),
});

/** `ours`: flags of each side, or what makes them; `peers`: name and program of each. */
function exportBenchmark({ name, question, ours, peers, digestOf, guards }) {
  return {
    name,
    question,
    guards,
    size: 700_000,
    open: (world) => open(world, { ours, peers, digestOf }),
  };
}

async function open({ size, folder }, { ours, peers, digestOf }) {
  const pages = Math.max(1, Math.round(size / perPage));
  const pageServer = fileURLToPath(new URL('harness/page-server.js', import.meta.url));
  const server = await startServer(pageServer, pages, perPage);
  const { url } = server;
  const range = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-14'];
  const side = (flags) => {
    const given = typeof flags === 'function' ? flags({ folder }) : flags;
    const shown = given.join(' ').replace(`${folder}/`, '');
    const args = ['export-profiles', ...range, '--quiet', ...given];
    return engagectl(args, { url, folder, name: `engagectl ${shown}`.trim() });
  };
  return {
    records: pages * perPage,
    sides: [
      ...ours.map(side),
      ...peers.map(([label, file]) => peer(label, program(file, url))),
      peer(floor, program('export-floor.js', url), 'floor'),
    ],
    async watch({ digest, output }, run) {
      await server.reset();
      await run();
      const arrived = await server.arrived();
      return digest ? { ...arrived, ...digestOf(output) } : arrived;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Returns the file that a side wrote; undefined for a floor, which is compared by the pages sent to it. */
function digestOfLines(path) {
  const text = readFileSync(path);
  if (text.length === 0) return {};
  const digest = new Digest();
  for (let start = 0; start < text.length;) {
    const end = text.indexOf(10, start);
    digest.add(JSON.parse(text.toString('utf8', start, end)));
    start = end + 1;
  }
  return digest.value;
}

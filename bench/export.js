// Question: how fast do the pages of an export become records, compared with only receiving them?
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Digest } from './harness/digest.js';
import { engagectl, peer, program } from './harness/sides.js';
import { startServer } from './harness/server.js';

const perPage = 4991;

export const exportNdjson = {
  name: 'export-ndjson',
  question: 'pages of 4,991 user profiles (about 7 MB each) to NDJSON on standard output',
  size: 700_000,
  guards: [
    { what: 'export to NDJSON ÷ receive and discard', to: 'floor', most: 1.6 },
    { what: 'export to NDJSON: peak MiB', key: 'peakBytes', most: 191 },
  ],
  open,
};

async function open({ size, folder }) {
  const pages = Math.max(1, Math.round(size / perPage));
  const pageServer = fileURLToPath(new URL('harness/page-server.js', import.meta.url));
  const server = await startServer(pageServer, pages, perPage);
  const { url } = server;
  const range = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-14'];
  const args = ['export-profiles', ...range, '--quiet'];
  return {
    records: pages * perPage,
    sides: [
      engagectl(args, { url, folder, name: 'engagectl' }),
      peer('Python: http.client + json, NDJSON', program('export.py', url)),
      peer('undici + JSON.parse + JSON.stringify', program('export-node.js', url)),
      peer('floor: undici, receive and discard', program('export-floor.js', url), 'floor'),
    ],
    async watch({ digest, output }, run) {
      await server.reset();
      await run();
      const arrived = await server.arrived();
      return digest ? { ...arrived, ...digestOfLines(output) } : arrived;
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

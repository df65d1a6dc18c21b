// Question: how fast do user profiles of a file reach the service, with up to 15 requests in flight?
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeProfilesCsv, writeProfilesNdjson } from './data.js';
import { engagectl, peer, program } from './harness/sides.js';
import { startServer } from './harness/server.js';

export const uploadCsv = {
  name: 'upload-csv',
  question: 'CSV of 12 columns to a counting sink in another process',
  size: 1_000_000,
  guards: [
    { what: 'upload of CSV ÷ floor', to: 'floor', most: 1.5 },
    { what: 'upload of CSV ÷ Python', to: 'Python', most: 0.2 },
    { what: 'upload of CSV: peak MiB', key: 'peakBytes', most: 143 },
  ],
  async open({ size, folder }) {
    const input = join(folder, 'profiles.csv');
    writeProfilesCsv(input, size);
    return openUpload({ size, folder, input, peers: csvPeers });
  },
};

/** The same at a service with the latency of most deployments, where requests in flight limit every client. */
export const uploadCsvAt100ms = {
  name: 'upload-csv-100ms',
  question: 'CSV of 12 columns to a counting sink that takes 100 ms for each answer',
  size: 1_000_000,
  async open({ size, folder }) {
    const input = join(folder, 'profiles.csv');
    writeProfilesCsv(input, size);
    const isConcurrent = ({ name }) => !name.startsWith('Python');
    const peers = (...place) => csvPeers(...place).filter(isConcurrent);
    return openUpload({ size, folder, input, peers, latencyMs: 100 });
  },
};

export const uploadNdjson = {
  name: 'upload-ndjson',
  question: 'NDJSON of upload records to a counting sink in another process',
  size: 1_000_000,
  guards: [
    { what: 'upload of NDJSON ÷ floor', to: 'floor', most: 1.5 },
    { what: 'upload of NDJSON: peak MiB', key: 'peakBytes', most: 143 },
  ],
  async open({ size, folder }) {
    const input = join(folder, 'profiles.ndjson');
    writeProfilesNdjson(input, size);
    return openUpload({ size, folder, input, peers: ndjsonPeers });
  },
};

const csvPeers = (input, url) => [
  peer('csv-parse + JSON.stringify + undici', program('upload-node.js', input, url)),
  peer('Python: csv.DictReader + json + http.client', program('upload.py', input, url)),
  peer(
    'floor: read, find records, post prepared bodies',
    program('upload-floor.js', input, url),
    'floor',
  ),
];

const ndjsonPeers = (input, url) => [
  peer('readline + JSON.parse + JSON.stringify + undici', program('upload-node.js', input, url)),
  peer('Python: json + http.client', program('upload.py', input, url)),
  peer(
    'floor: read, find records, post prepared bodies',
    program('upload-floor.js', input, url),
    'floor',
  ),
];

async function openUpload({ size, folder, input, peers, latencyMs = 0 }) {
  const program = fileURLToPath(new URL('harness/sink.js', import.meta.url));
  const sink = await startServer(program, latencyMs);
  return {
    records: size,
    sides: [
      engagectl(['upload', input, '--json'], { url: sink.url, folder }),
      ...peers(input, sink.url),
    ],
    async watch({ digest }, run) {
      await sink.reset({ digest });
      await run();
      return sink.arrived();
    },
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  };
}

// Question: how fast do user profiles of a file reach the service, with 8 requests in flight?
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
  peer('csv-parse + JSON.stringify + undici, 8 in flight', program('upload-node.js', input, url)),
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

async function openUpload({ size, folder, input, peers }) {
  const sink = await startServer(fileURLToPath(new URL('harness/sink.js', import.meta.url)));
  return {
    records: size,
    sides: [
      engagectl(['upload', input, '--concurrency', '8', '--json'], { url: sink.url, folder }),
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

// How fast do rows become upload records? node bench/mapping.js <file> [csv|ndjson]
// The time counted is that of mapping alone, without reading and cutting the file.
import { timeZone } from '../build/time-zone.js';
import { openInputs } from '../build/input/inputs.js';
import { uploadMapper } from '../build/mapping/upload-mapper.js';

const [file, format] = process.argv.slice(2);
const mapper = uploadMapper({
  kind: 'profile',
  identity: 'identity',
  identityGiven: false,
  map: new Map(),
  drop: new Set(),
  types: new Map(),
  empty: 'omit',
  zone: timeZone('UTC'),
  retryUnknown: false,
});
const options = {
  files: [file],
  maxRecordBytes: 1024 * 1024,
  ...(format && { inputFormat: format }),
};
const inputs = await openInputs(options, { stdin: process.stdin, cwd: process.cwd() });
const totals = { records: 0, rejects: 0, bytes: 0, milliseconds: 0 };
for await (const rows of inputs.blocks()) {
  const started = performance.now();
  const block = mapper.map(rows);
  totals.milliseconds += performance.now() - started;
  totals.records += block.count;
  totals.rejects += block.rejects.length;
  for (let n = 0; n < block.count; n += 1) {
    totals.bytes += block.bounds[2 * n + 1] - block.bounds[2 * n];
  }
}
const seconds = totals.milliseconds / 1000;
const peak = process.resourceUsage().maxRSS / 1024;
process.stdout.write(
  `${totals.records} records, ${totals.rejects} rejects, ${(totals.bytes / 1e6).toFixed(0)} MB of JSON, ` +
    `${seconds.toFixed(2)} s of mapping, peak ${peak.toFixed(0)} MiB\n`,
);

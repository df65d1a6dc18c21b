// How fast is an input cut into records? node bench/input.js <file> [csv|tsv|ndjson|json|list]
import { openInputs } from '../build/input/inputs.js';

const [file, format] = process.argv.slice(2);
const options = {
  files: [file],
  maxRecordBytes: 1024 * 1024,
  ...(format && { inputFormat: format }),
};
const started = performance.now();
const inputs = await openInputs(options, { stdin: process.stdin, cwd: process.cwd() });
let records = 0;
let faults = 0;
for await (const block of inputs.blocks()) {
  records += block.count;
  faults += block.faults.length;
}
const seconds = (performance.now() - started) / 1000;
const megabytes = inputs.bytesRead() / 1e6;
const peak = process.resourceUsage().maxRSS / 1024;
process.stdout.write(
  `${records} records, ${faults} faults, ${seconds.toFixed(2)} s, ` +
    `${(megabytes / seconds).toFixed(0)} MB/s, peak ${peak.toFixed(0)} MiB\n`,
);

// A service that takes everything: answers each upload as if it had stored it, and counts.
// While rounds are timed it only counts; asked for a digest it also reads every record.
// Argument: milliseconds that each answer takes; default 0.
import { createServer } from 'node:http';
import { Digest } from './digest.js';
import { serveParent } from './server.js';

const latency = Number(process.argv[2] ?? 0);
const marker = Buffer.from('"type":');

let requests = 0;
let records = 0;
let bytes = 0;
let digest;
/** When the first request came and the last answer went, in seconds of the clock that all processes share. */
let firstAt;
let lastAt;

const server = createServer((request, response) => {
  firstAt ??= now();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const processed = countRecords(body);
    requests += 1;
    records += processed;
    bytes += body.length;
    if (digest) for (const record of JSON.parse(body).d) digest.add(record);
    const answer = () => {
      lastAt = now();
      response.setHeader('Content-Type', 'application/json');
      response.end(`{"status":"success","processed":${processed},"unprocessed":[]}`);
    };
    if (latency > 0) setTimeout(answer, latency);
    else answer();
  });
});

const now = () => Number(process.hrtime.bigint()) / 1e9;

/** Each record has one member `type`; the same text inside a string would have its quotes escaped. */
function countRecords(body) {
  let count = 0;
  for (let at = body.indexOf(marker); at !== -1; at = body.indexOf(marker, at + marker.length)) {
    count += 1;
  }
  return count;
}

serveParent(server, {
  reset: (how) => {
    requests = records = bytes = 0;
    firstAt = undefined;
    digest = how.digest ? new Digest() : undefined;
  },
  arrived: () => ({ requests, records, bytes, firstAt, lastAt, ...digest?.value }),
});

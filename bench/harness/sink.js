// A service that takes everything: answers each upload as if it had stored it, and counts.
// While rounds are timed it only counts; asked for a digest it also reads every record.
// Arguments: milliseconds that each answer takes (default 0), and the requests in flight beyond which
// it answers 429 at once (default: no limit).
import { createServer } from 'node:http';
import { Digest } from './digest.js';
import { serveParent } from './server.js';

const latency = Number(process.argv[2] ?? 0);
const limit = Number(process.argv[3] ?? Number.POSITIVE_INFINITY);
const marker = Buffer.from('"type":');

let requests = 0;
let inFlight = 0;
let mostInFlight = 0;
let throttled = 0;
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
    if (inFlight >= limit) {
      throttled += 1;
      response.statusCode = 429;
      response.end('{"status":"fail","error":"Too many concurrent requests","code":429}');
      return;
    }
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    const body = Buffer.concat(chunks);
    const processed = countRecords(body);
    requests += 1;
    records += processed;
    bytes += body.length;
    if (digest) for (const record of JSON.parse(body).d) digest.add(record);
    const answer = () => {
      inFlight -= 1;
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
    requests = records = bytes = mostInFlight = throttled = 0;
    firstAt = undefined;
    digest = how.digest ? new Digest() : undefined;
  },
  arrived: () => ({
    requests,
    records,
    bytes,
    mostInFlight,
    throttled,
    firstAt,
    lastAt,
    ...digest?.value,
  }),
});

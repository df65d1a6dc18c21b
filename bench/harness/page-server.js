// A service with an endless account: serves `pages` pages of an export, made once and kept in memory,
// so that it costs next to nothing beside the program that is measured. Arguments: pages and records a page, or
// megabytes (`250MB`) and a shape of `../shapes.js`.
import { createServer } from 'node:http';
import { pageRecords } from '../data.js';
import { shapedRecords } from '../shapes.js';
import { serveParent } from './server.js';

const [amount, kind] = process.argv.slice(2);
const isShape = amount.endsWith('MB');
const perPage = isShape ? 4991 : Number(kind);
const differentPages = isShape ? 8 : Math.min(Number(amount), 8);
const bodies = Array.from({ length: differentPages }, (_, n) =>
  isShape ? shapedRecords(kind, perPage, n) : pageRecords(perPage, n),
);
const meanBytes = bodies.reduce((sum, { length }) => sum + length, 0) / differentPages;
const pages = isShape ? Math.ceil((Number.parseInt(amount, 10) * 1e6) / meanBytes) : Number(amount);

let requests = 0;
let served = 0;
let bytes = 0;

const server = createServer((request, response) => {
  request.resume();
  requests += 1;
  response.setHeader('Content-Type', 'application/json');
  if (request.method === 'POST') {
    response.end('{"status":"success","cursor":"page%2F0"}');
    return;
  }
  const page = Number(/page%2F(\d+)/.exec(request.url)?.[1]);
  const next = page + 1 < pages ? `,"next_cursor":"page%2F${page + 1}"` : '';
  const head = Buffer.from(`{"status":"success"${next},"records":[`);
  const body = bodies[page % differentPages];
  served += 1;
  bytes += head.length + body.length + 2;
  response.setHeader('Content-Length', head.length + body.length + 2);
  response.write(head);
  for (const part of turned(body, Math.floor(page / differentPages))) response.write(part);
  response.end(']}');
});

/** The records of a page, beginning with the one at `place`: the same page under two cursors would be a fault. */
function turned(body, place) {
  if (place === 0) return [body];
  const start = Buffer.concat([Buffer.from('},'), body.subarray(0, 8)]);
  let end = -1;
  for (let n = 0; n < place; n += 1) end = body.indexOf(start, end + 1);
  return [body.subarray(end + 2), Buffer.from(','), body.subarray(0, end + 1)];
}

serveParent(server, {
  reset: () => (requests = served = bytes = 0),
  arrived: () => ({ requests, records: served * perPage, bytes }),
});

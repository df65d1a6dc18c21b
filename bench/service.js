// Question: how fast does the local service take new profiles into a store of a million, and give a million
// events back? node bench/service.js [--profiles n] [--events n] [--rounds n] [--folder f]
// A folder that is named is kept: the next time its store is there already.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { randomOf } from '../fixtures/random.js';
import { anonymousBytes, processorSeconds } from './harness/process-figures.js';
import { median } from './harness/report.js';
import { bin } from './harness/sides.js';
import { eventText, profileText } from './service-records.js';

const { values } = parseArgs({
  options: {
    profiles: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    folder: { type: 'string' },
  },
});
const stored = Number(values.profiles);
const events = Number(values.events);
const rounds = Number(values.rounds);
const perRound = 20_000;
/** All days of the events (see eventText), and eight parts of them. */
const [firstDay, lastDay] = [20231101, 20231231];
const starts = [20231101, 20231109, 20231116, 20231123, 20231201, 20231208, 20231215, 20231222];
const ends = [20231108, 20231115, 20231122, 20231130, 20231207, 20231214, 20231221, 20231231];

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'engagectl-bench-'));
const store = join(folder, 'service.db');
const copy = join(folder, 'copy.db');
const { next } = randomOf(1);
/** Numbers that no run had before in the same folder. */
let newcomer = stored + (Math.floor(Date.now() / 1000) % 1_000_000) * 1000;
const account = { id: 'BENCH', passcode: 'passcode-of-the-benchmark' };
const environment = {
  ...process.env,
  ENGAGECTL_ACCOUNT_ID: account.id,
  ENGAGECTL_PASSCODE: account.passcode,
  ENGAGECTL_CONFIG_DIR: join(folder, 'config'),
  ENGAGECTL_STATE_DIR: join(folder, 'state'),
};
const headers = {
  'Content-Type': 'application/json',
  'X-Service-Account-Id': account.id,
  'X-Service-Passcode': account.passcode,
};
try {
  if (!existsSync(store)) await serving(fill);
  copyFileSync(store, copy);
  await serving(async (service) => {
    await measureUploads(service);
    await measureExports(service);
  });
} finally {
  showProgress('');
  rmSync(copy, { force: true });
  if (!values.folder) rmSync(folder, { recursive: true, force: true });
}

/** The service is a process of its own, so that its memory and its processor are its own. */
async function serving(work) {
  const args = ['serve', '--port', '0', '--data', folder, '--quiet', '--max-concurrent', '15,8'];
  const child = spawn(process.execPath, [bin, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const url = line.trim();
  const limits = { connections: 16, pipelining: 1, bodyTimeout: 0, headersTimeout: 0 };
  const pool = new Pool(url, limits);
  try {
    await work({ url, pool, pid: child.pid });
  } finally {
    await pool.close();
    child.kill();
    await once(child, 'exit');
  }
}

async function fill(service) {
  const started = performance.now();
  await upload(service, stored, profileText, 'fill the store with profiles');
  const event = (number) => eventText(Math.floor(next() * stored), number);
  await upload(service, events, event, 'fill the store with events');
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`store: ${count(stored)} profiles, ${count(events)} events, filled in ${seconds} s`);
}

/** Each round is the service's and, of as many other new profiles, SQLite's alone. */
async function measureUploads(service) {
  const fresh = [];
  const known = [];
  const floor = [];
  for (let round = 1; round <= rounds; round++) {
    const what = `upload ${round} of ${rounds}`;
    const first = (newcomer += perRound);
    const anew = (n) => profileText(first + n);
    fresh.push(await measured(service, perRound, () => upload(service, perRound, anew, what)));
    floor.push(rate(perRound, floorSeconds((newcomer += perRound))));
    const again = () => profileText(Math.floor(next() * stored));
    known.push(await measured(service, perRound, () => upload(service, perRound, again, what)));
  }
  report('new profiles uploaded', fresh);
  const ratios = fresh.map(({ processor }, round) => floor[round] / processor);
  console.log(
    `their rows into SQLite, without a service: ${count(median(floor))} a second of processor time; ` +
      `our CPU ÷ its ${median(ratios).toFixed(2)}`,
  );
  report('known profiles uploaded', known);
}

function floorSeconds(first) {
  const program = fileURLToPath(new URL('peers/service-floor.js', import.meta.url));
  return Number(execFileSync(process.execPath, [program, copy, String(perRound), String(first)]));
}

/** All events by our own command, by a client that asks for one page after the other, and by eight of them, each a part. */
async function measureExports(service) {
  const clients = [
    { client: 'engagectl export-events > /dev/null', read: readByCommand },
    { client: 'a client that asks for one page after the other', read: readByPages },
    { client: 'eight such clients at once, each an eighth', read: readByEight },
  ];
  const results = clients.map(() => []);
  const memory = [];
  const sampling = setInterval(() => memory.push(anonymousBytes(service.pid)), 50);
  for (let round = 1; round <= rounds; round++) {
    for (const [n, { client, read }] of clients.entries()) {
      showProgress(`export ${round} of ${rounds} by ${client}`);
      const reading = async () => {
        const records = await read(service);
        if (records !== events) throw new Error(`${records} of ${events} events came back`);
      };
      results[n].push(await measured(service, events, reading));
    }
  }
  clearInterval(sampling);
  for (const [n, { client }] of clients.entries())
    report(`events exported by ${client}`, results[n]);
  const [, one, eight] = results;
  const ratio = (key) => median(eight.map((run, round) => run[key] / one[round][key])).toFixed(2);
  console.log(
    `eight readers together ÷ one: ${ratio('clock')} events a second, ` +
      `${ratio('processor')} a second of the service's processor time`,
  );
  console.log(`memory of the service meanwhile: ${byQuarter(memory)}`);
}

/** The most memory in each quarter of the time: flat when the last is like the first. */
function byQuarter(samples) {
  const most = [0, 1, 2, 3].map((n) => {
    const quarter = samples.slice((n * samples.length) / 4, ((n + 1) * samples.length) / 4);
    return Math.round(Math.max(...quarter) / 2 ** 20);
  });
  return `at most ${most.join(', ')} MiB in the quarters of the time`;
}

/** Records a second of the clock, and a second of the service's processor time, which a busy machine changes less. */
async function measured({ pid }, records, work) {
  const started = performance.now();
  const cpuBefore = processorSeconds(pid);
  await work();
  const cpu = processorSeconds(pid) - cpuBefore;
  return {
    clock: rate(records, (performance.now() - started) / 1000),
    processor: rate(records, cpu),
  };
}

function rate(records, seconds) {
  return records / seconds;
}

async function readByEight(service) {
  const parts = starts.map((from, part) => readByPages(service, from, ends[part]));
  return (await Promise.all(parts)).reduce((all, records) => all + records, 0);
}

/** Returns the number of records, as the command's summary has it. */
async function readByCommand({ url }) {
  const args = [
    'export-events',
    '--event',
    'Viewed',
    '--from',
    `${firstDay}`,
    '--to',
    `${lastDay}`,
  ];
  const child = spawn(process.execPath, [bin, ...args, '--json'], {
    env: { ...environment, ENGAGECTL_BASE_URL: url },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  await once(child, 'close');
  return JSON.parse(stderr.trim().split('\n').at(-1)).records;
}

/** Returns the number of records, which it counts without parsing them. */
async function readByPages({ pool }, from = firstDay, to = lastDay) {
  const query = { event_name: 'Viewed', from, to };
  let { cursor } = await call(pool, 'POST', '/1/events.json', JSON.stringify(query));
  let records = 0;
  while (cursor) {
    const path = `/1/events.json?cursor=${cursor}`;
    const answer = await pool.request({ method: 'GET', path, headers });
    const page = Buffer.from(await answer.body.bytes()).toString('latin1');
    records += page.split('"event_props":').length - 1;
    cursor = /"next_cursor":"([^"]+)"\}$/.exec(page.slice(-500))?.[1];
  }
  return records;
}

/** Uploads `total` records, 1000 in a request, 8 requests in flight. `record` gets its number, from 0. */
async function upload({ pool }, total, record, what) {
  let left = total;
  const worker = async () => {
    while (left > 0) {
      if (left % 10_000 === 0) showProgress(`${what}: ${count(left)} to go`);
      const size = Math.min(1000, left);
      left -= size;
      const first = left;
      const texts = Array.from({ length: size }, (_, n) => record(first + n));
      const answer = await call(pool, 'POST', '/1/upload', `{"d":[${texts.join(',')}]}`);
      if (answer.processed !== size) throw new Error(JSON.stringify(answer).slice(0, 500));
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

async function call(pool, method, path, body) {
  const answer = await pool.request({ method, path, headers, body: Buffer.from(body) });
  return answer.body.json();
}

function count(n) {
  return Math.round(n).toLocaleString('en-US');
}

function report(what, results) {
  const clock = results.map((result) => result.clock);
  const range = `${count(Math.min(...clock))} to ${count(Math.max(...clock))}`;
  const processor = count(median(results.map((result) => result.processor)));
  console.log(
    `${what}: ${count(median(clock))} a second (${range}), ` +
      `${processor} a second of the service's processor time`,
  );
}

function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

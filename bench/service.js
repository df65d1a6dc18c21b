// Question: how fast does the local service take random profiles into a store of a million, and give a
// million events back? node bench/service.js [--profiles n] [--events n] [--folder f]
// A folder that is named is kept: the next time its store is there already.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { randomOf } from '../fixtures/random.js';
import { anonymousBytes, processorSeconds } from './harness/process-figures.js';
import { bin } from './harness/sides.js';

const { values } = parseArgs({
  options: {
    profiles: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '1000000' },
    folder: { type: 'string' },
  },
});
const stored = Number(values.profiles);
const events = Number(values.events);
const uploadRounds = 3;
const uploadedPerRound = 20_000;
const exportRounds = 3;
/** Of the events; see event(). */
const [firstDay, lastDay] = ['2023-11-01', '2023-12-31'];

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'engagectl-bench-'));
const isFilled = existsSync(join(folder, 'service.db'));
const { next } = randomOf(1);
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
const service = await startService();
const pool = new Pool(service.url, {
  connections: 16,
  pipelining: 1,
  bodyTimeout: 0,
  headersTimeout: 0,
});
try {
  if (!isFilled) await fill();
  await measureUploads();
  await measureExports();
} finally {
  showProgress('');
  await pool.close();
  service.process.kill();
  await once(service.process, 'exit');
  if (!values.folder) rmSync(folder, { recursive: true, force: true });
}

/** The service as a process of its own, so that its memory and its processor are its own. */
async function startService() {
  const args = ['serve', '--port', '0', '--data', folder, '--quiet'];
  const child = spawn(process.execPath, [bin, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { process: child, url: line.trim() };
}

async function fill() {
  const started = performance.now();
  await upload(stored, (n) => profile(n), 'fill the store with profiles');
  await upload(events, () => event(), 'fill the store with events');
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`store: ${count(stored)} profiles, ${count(events)} events, filled in ${seconds} s`);
}

async function measureUploads() {
  const results = [];
  const random = () => profile(Math.floor(next() * stored * 2));
  for (let round = 1; round <= uploadRounds; round++) {
    const what = `upload ${round} of ${uploadRounds}`;
    results.push(await measured(uploadedPerRound, () => upload(uploadedPerRound, random, what)));
  }
  report('profiles uploaded, half of them new', results);
}

/** The same export by two clients: our own command, and one that asks for a page when it has the one before. */
async function measureExports() {
  const clients = [
    { client: 'engagectl export-events > /dev/null', read: readByCommand },
    { client: 'a client that asks for one page after the other', read: readByPages },
  ];
  for (const { client, read } of clients) {
    const results = [];
    const memory = [];
    for (let round = 1; round <= exportRounds; round++) {
      showProgress(`export ${round} of ${exportRounds} by ${client}`);
      const sampling = setInterval(() => memory.push(anonymousBytes(service.process.pid)), 50);
      results.push(
        await measured(events, async () => {
          const records = await read();
          if (records !== events) throw new Error(`${records} of ${events} events came back`);
        }),
      );
      clearInterval(sampling);
    }
    report(`events exported by ${client}`, results);
    console.log(`memory of the service meanwhile: ${byQuarter(memory)}`);
  }
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
async function measured(records, work) {
  const started = performance.now();
  const cpuBefore = processorSeconds(service.process.pid);
  await work();
  const cpu = processorSeconds(service.process.pid) - cpuBefore;
  return { clock: (records / (performance.now() - started)) * 1000, processor: records / cpu };
}

/** Returns the number of records, as the command's summary has it. */
async function readByCommand() {
  const args = ['export-events', '--event', 'Viewed', '--from', firstDay, '--to', lastDay];
  const child = spawn(process.execPath, [bin, ...args, '--json'], {
    env: { ...environment, ENGAGECTL_BASE_URL: service.url },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  await once(child, 'close');
  return JSON.parse(stderr.trim().split('\n').at(-1)).records;
}

/** Returns the number of records, which it counts without parsing them. */
async function readByPages() {
  const [from, to] = [firstDay, lastDay].map((day) => Number(day.replaceAll('-', '')));
  const query = { event_name: 'Viewed', from, to };
  let { cursor } = await call('POST', '/1/events.json', JSON.stringify(query));
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

/** Uploads `total` records, 1000 in a request, 8 requests in flight. */
async function upload(total, record, what) {
  let left = total;
  const worker = async () => {
    while (left > 0) {
      if (left % 10_000 === 0) showProgress(`${what}: ${count(left)} to go`);
      const size = Math.min(1000, left);
      left -= size;
      const body = `{"d":[${Array.from({ length: size }, (_, i) => record(left + i)).join(',')}]}`;
      const answer = await call('POST', '/1/upload', body);
      if (answer.processed !== size) throw new Error(JSON.stringify(answer).slice(0, 500));
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

async function call(method, path, body) {
  const answer = await pool.request({ method, path, headers, body: Buffer.from(body) });
  return answer.body.json();
}

/** About 350 bytes; the identity is a hash of the number, so that neighbours lie far apart. */
function profile(number) {
  const identity = identityOf(number);
  const amount = Math.floor(next() * 10_000);
  return (
    `{"identity":"${identity}","type":"profile","profileData":{"Name":"Maria Example ${number % 997}",` +
    `"Email":"${identity}@example.test","Phone":"+9198${String(10_000_000 + (number % 90_000_000))}","Gender":"F",` +
    `"DOB":"$D_631152000","City":"São Paulo","Plan":"gold","Points":${amount},"Last store":"Store ${amount % 50}",` +
    `"Referrer":"newsletter","MSG-sms":true,"MSG-email":${amount % 2 === 0}}}`
  );
}

function event() {
  const identity = identityOf(Math.floor(next() * stored));
  const ts = 1_698_800_000 + Math.floor(next() * 5_000_000);
  return (
    `{"identity":"${identity}","type":"event","evtName":"Viewed","ts":${ts},"evtData":{"Item":"Blue shirt",` +
    `"Price":19.90,"Quantity":${1 + (ts % 5)},"Category":"Clothes"}}`
  );
}

function identityOf(number) {
  const mixed = Math.imul(number ^ 0x5bd1e995, 0x9e3779b1) >>> 0;
  return `user-${mixed.toString(36)}-${number.toString(36)}`;
}

function count(n) {
  return Math.round(n).toLocaleString('en-US');
}

function report(what, results) {
  const clock = results.map((result) => result.clock).toSorted((a, b) => a - b);
  const processor = results.map((result) => result.processor).toSorted((a, b) => a - b);
  const middle = Math.floor(results.length / 2);
  console.log(
    `${what}: ${count(clock[middle])} a second (${count(clock[0])} to ${count(clock.at(-1))}), ` +
      `${count(processor[middle])} a second of the service's processor time`,
  );
}

function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

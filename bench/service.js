// Question: how fast does the local service take random profiles into a store of a million, and give a
// million events back? `npm run build && node bench/service.js [--profiles n] [--events n]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { randomOf } from '../fixtures/random.js';

const { values } = parseArgs({
  options: {
    profiles: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '1000000' },
    folder: { type: 'string' },
  },
});
const stored = Number(values.profiles);
const events = Number(values.events);
const rounds = 5;
const exportRounds = 3;
const uploadedPerRound = 20_000;

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'engagectl-bench-'));
const { next } = randomOf(1);
const account = { id: 'BENCH', passcode: 'bench' };
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
  await fill();
  await measureUploads();
  await measureExport();
} finally {
  await pool.close();
  service.process.kill();
  await once(service.process, 'exit');
  if (!values.folder) rmSync(folder, { recursive: true, force: true });
}

/** The service as a process of its own, so that its memory and its processor are its own. */
async function startService() {
  const bin = fileURLToPath(new URL('../bin/engagectl.js', import.meta.url));
  const child = spawn(process.execPath, [bin, 'serve', '--port', '0', '--data', folder], {
    env: { ...process.env, ENGAGECTL_ACCOUNT_ID: account.id, ENGAGECTL_PASSCODE: account.passcode },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { process: child, url: line.trim() };
}

async function fill() {
  const started = performance.now();
  await upload(stored, (n) => profile(n));
  await upload(events, () => event());
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`store: ${count(stored)} profiles, ${count(events)} events, filled in ${seconds} s`);
}

async function measureUploads() {
  const results = [];
  for (let round = 0; round < rounds; round++) {
    const random = () => profile(Math.floor(next() * stored * 2));
    results.push(await measured(uploadedPerRound, () => upload(uploadedPerRound, random)));
  }
  report('profiles uploaded, half of them new', results);
}

async function measureExport() {
  const results = [];
  for (let round = 0; round < exportRounds; round++) {
    const samples = [];
    let bytes;
    const result = await measured(events, async () => {
      const pages = await exportEvents(samples);
      if (pages.records !== events)
        throw new Error(`${pages.records} of ${events} events came back`);
      bytes = pages.bytes;
    });
    results.push(result);
    const rate = `${count(result.clock)} a second, ${count(result.processor)} of processor time`;
    console.log(
      `export ${round + 1}, ${Math.round(bytes / events)} bytes a record: ${rate}; memory`,
    );
    console.log(`  ${memoryByQuarter(samples)}`);
  }
  report('events exported', results);
}

/** The most memory of the service in each quarter of the pages: flat when the last is like the first. */
function memoryByQuarter(samples) {
  return ['first', 'second', 'third', 'last']
    .map((name, n) => {
      const quarter = samples.slice(
        Math.floor((n * samples.length) / 4),
        Math.ceil(((n + 1) * samples.length) / 4),
      );
      return `${name} quarter ${Math.round(Math.max(...quarter) / 2 ** 20)} MiB`;
    })
    .join(', ');
}

/** Records a second of the clock, and a second of the service's processor time, which a busy machine changes less. */
async function measured(records, work) {
  const started = performance.now();
  const cpuBefore = processorSeconds(service.process.pid);
  await work();
  const cpu = processorSeconds(service.process.pid) - cpuBefore;
  return { clock: (records / (performance.now() - started)) * 1000, processor: records / cpu };
}

/** Reads all pages; counts records without parsing them. Adds the service's memory after each page to `samples`. */
async function exportEvents(samples) {
  const query = { event_name: 'Viewed', from: 20231001, to: 20240101 };
  let { cursor } = await call('POST', '/1/events.json', JSON.stringify(query));
  let records = 0;
  let bytes = 0;
  while (cursor) {
    const answer = await pool.request({
      method: 'GET',
      path: `/1/events.json?cursor=${cursor}`,
      headers,
    });
    const page = Buffer.from(await answer.body.bytes()).toString('latin1');
    records += page.split('"event_props":').length - 1;
    bytes += page.length;
    samples.push(resident(service.process.pid));
    cursor = /"next_cursor":"([^"]+)"\}$/.exec(page.slice(-500))?.[1];
  }
  return { records, bytes };
}

/** Uploads `total` records, 1000 in a request, 8 requests in flight. */
async function upload(total, record) {
  let left = total;
  const worker = async () => {
    while (left > 0) {
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

/** Processor time of the process until now; Linux only, else NaN. */
function processorSeconds(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

/** Bytes of memory the process holds now; Linux only, else 0. */
function resident(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

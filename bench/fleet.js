// node bench/fleet.js [records] [rows of the pass] [--write]: the cost of shards and a fleet compared with one process, and the time until
// another worker resumes. Needs the build and redis-server; prints the figures of docs/scale.md, and with --write writes them there.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeProfilesCsv, writeProfilesNdjson } from './data.js';
import { machine, median } from './harness/report.js';
import { fleetFigures, replaceBetween, rounded, saveResults } from './harness/results.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
});

const bin = fileURLToPath(new URL('../bin/engagectl.js', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-bench-'));
const records = Number(positionals[0] ?? 300_000);
const inFlight = 8;
const passRows = Number(positionals[1] ?? 3_200_000);

let latency = 0;
const received = { records: 0 };
const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  const answer = async () => {
    const body = Buffer.concat(chunks);
    let processed = 0;
    for (let at = -1; (at = body.indexOf('"identity":', at + 1)) >= 0;) processed += 1;
    if (latency > 0) await delay(latency);
    received.records += processed;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ status: 'success', processed, unprocessed: [] }));
  };
  request.on('end', () => void answer());
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const port = 20_000 + (process.pid % 10_000);
const redis = spawn(
  'redis-server',
  [
    '--port',
    String(port),
    '--dir',
    folder,
    '--appendonly',
    'yes',
    '--maxmemory-policy',
    'noeviction',
  ],
  { stdio: 'ignore' },
);
const env = {
  ...process.env,
  ENGAGECTL_WORK_DIRS: folder,
  ENGAGECTL_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  ENGAGECTL_ACCOUNT_ID: 'BENCH',
  ENGAGECTL_PASSCODE: 'passcode-of-the-bench',
  ENGAGECTL_STATE_DIR: path.join(folder, 'state'),
  ENGAGECTL_CONFIG_DIR: path.join(folder, 'config'),
  ENGAGECTL_QUEUE: `redis://127.0.0.1:${port}`,
};

const input = path.join(folder, 'users.csv');
writeFileSync(input, rows(records));

function rows(count) {
  const lines = Array.from(
    { length: count },
    (_, n) =>
      `user-${n},user${n}@example.com,+4479${String(n).padStart(8, '0')},City ${n % 500},${n % 80},plan-${n % 5},some note ${n}`,
  );
  return `identity,Email,Phone,City,Age,Plan,Note\n${lines.join('\n')}\n`;
}

function start(...argv) {
  const child = spawn(process.execPath, [bin, ...argv], {
    env,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  return { child, exited: once(child, 'exit') };
}

async function seconds(work) {
  const before = performance.now();
  await work();
  return (performance.now() - before) / 1000;
}

/** CPU time of a process with its start-up, which does not depend on the load of the machine. */
function cpuSeconds(...argv) {
  const words = [process.execPath, bin, ...argv];
  const script = `TIMEFORMAT='%U %S'; exec 3>/dev/null; time "$@" 2>&3 >&3`;
  const { stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], { env, encoding: 'utf8' });
  const [user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number);
  return user + system;
}

async function run(...argv) {
  const { exited } = start(...argv);
  const [code] = await exited;
  if (code !== 0) throw new Error(`${argv.join(' ')}: exit ${code}`);
}

let submits = 0;
function submit(shards) {
  submits += 1;
  const argv = [
    'fleet',
    'submit',
    'upload',
    input,
    '--shards',
    String(shards),
    '--budget',
    String(inFlight),
  ];
  const place = ['--work-dir', path.join(folder, `work-${submits}`)];
  const { stdout, stderr, status } = spawnSync(process.execPath, [bin, ...argv, ...place], {
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

async function fleetOf(workers, shards = inFlight) {
  submit(shards);
  const slots = String(Math.ceil(inFlight / workers));
  const all = Array.from({ length: workers }, () =>
    start('fleet', 'work', '--drain', '--slots', slots),
  );
  await Promise.all(all.map(({ exited }) => exited));
}

await delay(500);
await run('fleet', 'init');

const passed = { CSV: path.join(folder, 'pass.csv'), NDJSON: path.join(folder, 'pass.ndjson') };
const one = path.join(folder, 'one.csv');
writeProfilesCsv(passed.CSV, passRows);
writeProfilesNdjson(passed.NDJSON, passRows / 2);
writeProfilesCsv(one, 1);
const cpuOf = (file, shard) =>
  median([1, 2, 3, 4, 5].map(() => cpuSeconds('upload', file, '--check', ...shard)));
const startUp = cpuOf(one, ['--shard', '1/8']);
const passes = Object.entries(passed).map(([format, file]) => ({
  format,
  records: format === 'CSV' ? passRows : passRows / 2,
  megabytes: Math.round(statSync(file).size / 1e6),
  shards: ['', '1/2', '1/8', '1/15'].map((shard) => ({
    shard,
    cpu: rounded(cpuOf(file, shard === '' ? [] : ['--shard', shard]) - startUp),
  })),
}));

const walls = [];
for (const ms of [0, 50, 300]) {
  latency = ms;
  const alone = await seconds(() =>
    run('upload', input, '--concurrency', String(inFlight), '--no-journal'),
  );
  const fleets = [];
  for (const workers of [1, 2, 4]) fleets.push(await seconds(() => fleetOf(workers)));
  walls.push({ latencyMs: ms, seconds: [alone, ...fleets].map(rounded) }); // with 0, 1, 2 and 4 workers
}

latency = 0;
writeFileSync(input, rows(1000));
const few = await seconds(() => fleetOf(1, 8));
const many = await seconds(() => fleetOf(1, 208));

latency = 50;
writeFileSync(input, rows(200_000)); // enough not to be over when a worker is killed
submit(1);
const lease = ['--lease', '10s'];
const first = start('fleet', 'work', ...lease);
received.records = 0;
while (received.records === 0) await delay(20);
const second = start('fleet', 'work', '--drain', ...lease);
await delay(3000);
first.child.kill('SIGKILL');
await delay(200);
const before = received.records;
const recovery = await seconds(async () => {
  while (received.records === before) await delay(20);
});
second.child.kill('SIGKILL');
redis.kill('SIGKILL');
server.close();
rmSync(folder, { recursive: true, force: true });

const fleet = {
  machine: machine(),
  records,
  inFlight,
  passes,
  walls,
  jobMs: Math.round(((many - few) / 200) * 1000),
  recoverySeconds: Number(recovery.toFixed(1)),
};
console.log(fleetFigures(fleet));
if (values.write) {
  saveResults({ fleet });
  await replaceBetween('docs/scale.md', 'figures', fleetFigures(fleet));
}

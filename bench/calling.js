// Question: how many whole calls does the router take in a second, and how long does each take to be in
// progress? node bench/calling.js [--clients n] [--calls n] [--folder f]
// A whole call: placed, answered, both sides ready, in progress, hung up, ended on both sides.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { anonymousBytes, processorSeconds } from './harness/process-figures.js';
import { bin } from './harness/sides.js';

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '400' },
    calls: { type: 'string', default: '2000' },
    folder: { type: 'string' },
  },
});
const clients = Number(values.clients);
const calls = Number(values.calls);
const rounds = 5;
/** Half of the clients place calls, the others take them: so many go on at once. */
const atOnce = clients / 2;

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'engagectl-bench-'));
const account = { accountId: 'BENCH', apiKey: 'key-of-the-benchmark' };
const router = await startRouter();
try {
  const started = performance.now();
  const pairs = await Promise.all(Array.from({ length: atOnce }, (_, n) => pairOf(n)));
  console.log(`${clients} clients connected in ${count(performance.now() - started)} ms`);
  await measureCalls(pairs);
} finally {
  router.process.kill();
  await once(router.process, 'exit');
  if (!values.folder) rmSync(folder, { recursive: true, force: true });
}

/** The router as a process of its own, with its data on disk. */
async function startRouter() {
  const args = ['serve', '--port', '0', '--data', join(folder, 'calls'), '--quiet'];
  const child = spawn(process.execPath, [bin, ...args], {
    env: {
      ...process.env,
      ENGAGECTL_CALL_ACCOUNT_ID: account.accountId,
      ENGAGECTL_CALL_API_KEY: account.apiKey,
      ENGAGECTL_CONFIG_DIR: join(folder, 'config'),
      ENGAGECTL_STATE_DIR: join(folder, 'state'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { process: child, url: line.trim() };
}

/** One who calls, and one who answers; both for ever. */
async function pairOf(n) {
  const [caller, callee] = await Promise.all([connect(`caller_${n}`), connect(`callee_${n}`)]);
  callee.on.incoming = ({ callId }) => callee.say('answer', { callId });
  callee.on.Answered = ({ callId }) => callee.say('ready', { callId });
  callee.on.Ended = ({ seq }) => callee.say('seen', { seq });
  caller.on.Answered = ({ callId }) => caller.say('ready', { callId });
  return {
    /** Milliseconds from placed to in progress. */
    call: () =>
      new Promise((resolve) => {
        let placed = 0;
        let took = 0;
        caller.on.CallIsPlaced = () => (placed = performance.now());
        caller.on.CallInProgress = () => {
          took = performance.now() - placed;
          caller.say('hangup', {});
        };
        caller.on.Ended = ({ seq }) => {
          caller.say('seen', { seq });
          resolve(took);
        };
        caller.say('call', { to: `callee_${n}`, context: 'benchmark' });
      }),
  };
}

async function connect(cuid) {
  const socket = new WebSocket(
    `${router.url.replace('http', 'ws')}/call/v1/signal`,
    'engagectl.call.v1',
  );
  const on = {};
  let id = 0;
  const say = (t, frame) => socket.send(JSON.stringify({ t, id: ++id, ...frame }));
  const admitted = new Promise((resolve) => (on.ack = resolve));
  socket.on('message', (data) => {
    const frame = JSON.parse(data);
    if (frame.ok === false) throw new Error(JSON.stringify(frame));
    on[frame.t === 'event' ? frame.event : frame.t]?.(frame);
  });
  await once(socket, 'open');
  const device = { deviceId: cuid, platform: 'android', caps: {}, missedCallActions: {} };
  say('auth', { ...account, cuid, ...device, lastSeq: 0 });
  await admitted;
  return { say, on };
}

async function measureCalls(pairs) {
  const { pid } = router.process;
  const [rates, perCall, waits, memory] = [[], [], [], []];
  for (let round = 0; round < rounds; round += 1) {
    const sampling = setInterval(() => memory.push(anonymousBytes(pid)), 50);
    const [began, cpuBefore] = [performance.now(), processorSeconds(pid)];
    let left = calls;
    const work = async ({ call }) => {
      while (left-- > 0) waits.push(await call());
    };
    await Promise.all(pairs.map(work));
    rates.push((calls / (performance.now() - began)) * 1000);
    perCall.push(((processorSeconds(pid) - cpuBefore) * 1000) / calls);
    clearInterval(sampling);
    memory.push(anonymousBytes(pid));
  }
  const sorted = (list) => list.toSorted((a, b) => a - b);
  const at = (list, share) => sorted(list)[Math.floor(list.length * share)];
  console.log(
    `${count(calls)} whole calls, ${count(atOnce)} at once, ${rounds} rounds: ${count(at(rates, 0.5))} a second ` +
      `(${count(at(rates, 0))} to ${count(at(rates, 0.99))}), ${at(perCall, 0.5).toFixed(2)} ms of the router's processor time each`,
  );
  console.log(
    `placed to in progress: p50 ${count(at(waits, 0.5))} ms, p99 ${count(at(waits, 0.99))} ms`,
  );
  console.log(`memory of the router: at most ${count(Math.max(...memory) / 2 ** 20)} MiB`);
}

function count(n) {
  return Math.round(n).toLocaleString('en-US');
}

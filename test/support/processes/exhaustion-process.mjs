// node exhaustion-process.mjs <megabytes>: runs the built program in a folder of its own over inputs that lines of stdin describe,
//     {"name","argv":[…],"file","head"?,"unit","stops"?}        head and unit are Latin-1: the unit is repeated, compressed, after the head
// one after the other, and writes for each the most memory that the process had, the longest time that the event loop did not turn (CPU
// time of the main thread: others may share the machine), and how it ended. What takes longer than `stops` milliseconds of CPU time is
// stopped as by a signal; `late` is the CPU time that it took from then on.
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { EngagectlError } from '../../../build/errors.js';
import { main } from '../../../build/main.js';
import { nodeRuntime } from '../../../build/runtime.js';

const megabytes = Number(process.argv[2]);
const ofThisThread = `/proc/self/task/${process.pid}/schedstat`;
const cpuTime = () => Number(readFileSync(ofThisThread, 'latin1').split(' ', 1)[0]) / 1e6;

function write({ file, head = '', unit }) {
  const bytes = Buffer.from(unit, 'latin1');
  const megabyte = gzipSync(Buffer.alloc(bytes.length * Math.floor(2 ** 20 / bytes.length), bytes));
  const target = openSync(file, 'w');
  if (head) writeSync(target, gzipSync(Buffer.from(head, 'latin1')));
  for (let n = 0; n < megabytes; n += 1) writeSync(target, megabyte);
  closeSync(target);
}

const ignoring = () => new Writable({ write: (_chunk, _encoding, done) => done() });

async function run({ name, argv, stops = Number.POSITIVE_INFINITY, ...input }) {
  if (input.file) write(input);
  const stop = new AbortController();
  let told = '';
  const stderr = ignoring();
  stderr.write = (text) => {
    if (told.length < 1000) told += text;
    return true;
  };
  const world = Object.create(nodeRuntime(stop.signal), {
    stdin: { value: process.stdin },
    stdout: { value: ignoring() },
    stderr: { value: stderr },
  });
  globalThis.gc?.();
  writeFileSync('/proc/self/clear_refs', '5'); // the peak begins here
  const begun = cpuTime();
  let [last, longest, stopped] = [begun, 0, undefined];
  const look = () => {
    const now = cpuTime();
    longest = Math.max(longest, now - last);
    last = now;
    if (stopped !== undefined || now - begun < stops) return;
    stopped = now;
    stop.abort(new EngagectlError('E-TERMINATED', 'stopped by SIGTERM'));
  };
  const timer = setInterval(look, 5);
  const code = await main(argv, world);
  clearInterval(timer);
  look();
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  const late = stopped === undefined ? 0 : cpuTime() - stopped;
  const figures = { name, code, peak: 1024 * kilobytes, longest, late, cpu: cpuTime() - begun };
  process.stdout.write(`${JSON.stringify({ ...figures, told: told.slice(0, 200) })}\n`);
}

for await (const line of createInterface({ input: process.stdin })) await run(JSON.parse(line));

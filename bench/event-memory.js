// Question: what does it cost to remember the events that were sent, and to look each new one up?
import { spawnSync } from 'node:child_process';
import { closeSync, cpSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { engagectl } from './harness/sides.js';
import { startServer } from './harness/server.js';

const guards = [
  { what: 'remembered ÷ none', of: 'many remembered', to: 'none remembered', most: 1.15 },
  { what: 'many remembered: peak MiB', of: 'many remembered', key: 'peakBytes', most: 143 },
];

export const eventMemory = [
  {
    name: 'event-memory',
    question: 'new events, with five times as many remembered, against none',
    size: 1_000_000,
    guards,
    open: (place) => open(place, 5),
  },
  {
    name: 'event-memory-50x',
    question: 'the same with fifty times as many remembered',
    size: 1_000_000,
    guards,
    open: (place) => open(place, 50),
  },
];

/** `remembered`: events that are remembered, for each event that is sent. */
async function open({ size, folder }, remembered) {
  const input = join(folder, 'events.ndjson');
  writeEvents(input, 0, size);
  const sink = await startServer(fileURLToPath(new URL('harness/sink.js', import.meta.url)));
  const side = (name) =>
    engagectl(['upload', input, '--json'], { url: sink.url, folder: join(folder, name), name });
  const sides = [side('many remembered'), { ...side('none remembered'), role: 'peer' }];
  await sink.reset({ digest: false });
  for (let part = 1; part <= remembered; part += 1) {
    const older = join(folder, 'older.ndjson');
    writeEvents(older, part * size, size);
    upload(sides[0], older);
    rmSync(older);
  }
  const one = join(folder, 'one.ndjson');
  writeEvents(one, 1e9, 1); // this run moves the events of the last one to an archive
  upload(sides[0], one);
  upload(sides[1], one);
  const stateOf = ({ env }) => env.ENGAGECTL_STATE_DIR;
  for (const each of sides) cpSync(stateOf(each), `${stateOf(each)}.kept`, { recursive: true });
  return {
    records: size,
    sides,
    async watch({ digest }, run) {
      for (const each of sides) {
        rmSync(stateOf(each), { recursive: true });
        cpSync(`${stateOf(each)}.kept`, stateOf(each), { recursive: true });
      }
      await sink.reset({ digest });
      await run();
      return sink.arrived();
    },
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  };
}

function upload({ command: [program, , ...args], env, command }, file) {
  const argv = [command[1], ...args.map((word) => (word.endsWith('events.ndjson') ? file : word))];
  const { status, stderr } = spawnSync(program, argv, { env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`an earlier upload failed: ${stderr.toString()}`);
}

function writeEvents(file, from, count) {
  const descriptor = openSync(file, 'w');
  for (let n = from; n < from + count;) {
    let text = '';
    for (const end = Math.min(n + 10_000, from + count); n < end; n += 1) {
      text += `{"identity":"user-${n % 100_003}","type":"event","evtName":"Product viewed","ts":${1_700_000_000 + (n % 1_000_000)},"evtData":{"Order":${n},"Price":${n % 500}.5,"Category":"Shoes","In stock":true}}\n`;
    }
    writeSync(descriptor, text);
  }
  closeSync(descriptor);
}

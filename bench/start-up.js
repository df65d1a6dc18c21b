// Question: how long does a person wait before the tool says or does anything?
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startServer } from './harness/server.js';
import { engagectl, peer } from './harness/sides.js';

/** The shell's environment, and one without NODE_EXTRA_CA_CERTS, which Node reads at start-up. */
const environments = [
  { suffix: '', where: '', env: {} },
  {
    suffix: '-bare',
    where: ', without NODE_EXTRA_CA_CERTS',
    env: { NODE_EXTRA_CA_CERTS: '' },
  },
];

export const startUp = environments.flatMap(({ suffix, where, env }) => [
  {
    name: `start-up-version${suffix}`,
    question: `engagectl --version beside an empty Node program${where}`,
    rounds: 21,
    guards: guardsOf(suffix, '--version', 1.5),
    open: (place) => openWords(['--version'], { ...place, env }),
  },
  {
    name: `start-up-help${suffix}`,
    question: `engagectl upload --help beside an empty Node program${where}`,
    rounds: 21,
    guards: guardsOf(suffix, '--help', 2),
    open: (place) => openWords(['upload', '--help'], { ...place, env }),
  },
  {
    name: `start-up-upload${suffix}`,
    question: `from the start of engagectl upload to the arrival of its first request, beside an empty Node program${where}`,
    rounds: 21,
    guards: guardsOf(suffix, 'first request', 4.5),
    open: (place) => openUpload({ ...place, env }),
  },
]);

/** The guards are about the environment without those certificates: with them every ratio looks better. */
function guardsOf(suffix, what, most) {
  return suffix === '-bare' ? [{ what: `${what} ÷ bare Node`, to: 'floor', most }] : [];
}

/** Measures until the output is printed, with files in the disk cache. */
async function openWords(args, { folder, env }) {
  const { upload, sink } = await openSink(folder);
  const [program, ...words] = upload.command;
  await promisify(execFile)(program, words, { env: { ...process.env, ...upload.env, ...env } });
  const name = `engagectl ${args.join(' ')}`;
  return {
    sides: sides(engagectl(args, { url: sink.url, folder, name }), env),
    watch: async (_, run) => (await run(), {}),
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  };
}

/** Measures until the first request arrives. */
async function openUpload({ folder, env }) {
  const { upload, sink } = await openSink(folder);
  return {
    sides: sides(upload, env),
    async watch(_, run) {
      await sink.reset();
      const { start } = await run();
      const { firstAt } = await sink.arrived();
      return firstAt === undefined ? {} : { instead: { wall: firstAt - start } };
    },
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  };
}

/** A small upload, and a sink for it. */
async function openSink(folder) {
  const input = join(folder, 'two.csv');
  writeFileSync(input, 'identity,Name\na,Ann\nb,Ben\n');
  const sink = await startServer(fileURLToPath(new URL('harness/sink.js', import.meta.url)));
  return { upload: engagectl(['upload', input, '--quiet'], { url: sink.url, folder }), sink };
}

function sides(ours, env) {
  const floor = peer('floor: node -e 0', [process.execPath, '-e', '0'], 'floor');
  return [
    { ...ours, env: { ...ours.env, ...env } },
    { ...floor, env },
  ];
}

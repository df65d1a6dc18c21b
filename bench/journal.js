// Question: what do the journal and the order of records cost an upload?
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeProfilesCsv } from './data.js';
import { engagectl } from './harness/sides.js';
import { startServer } from './harness/server.js';

const question = 'the same upload with journal and order, and without one or both of them';

/** Many rounds at the first service, because the guard is narrower than the noise between rounds. */
const rounds = 25;

/** Each sync takes 5 ms longer, as on many a disk that is reached over a network. */
const slowDisk =
  'strace -f --seccomp-bpf -qq -o /dev/null -etrace=fsync,fdatasync -einject=fsync,fdatasync:delay_exit=5000'.split(
    ' ',
  );
const hasStrace = spawnSync('strace', ['-V']).status === 0;
if (!hasStrace) console.error('SKIPPED: journal-50ms-slow-disk needs strace');

/** A service that answers immediately, and one with the latency of most deployments. */
export const journals = [
  { name: 'journal', question, size: 1_000_000, rounds, open: (place) => open(place, 0) },
  {
    name: 'journal-50ms',
    question: `${question}, at a service that takes 50 ms`,
    size: 200_000,
    guards: [{ what: 'journal and order at 50 ms ÷ neither', to: 'neither', most: 1.05 }],
    open: (place) => open(place, 50),
  },
  {
    name: 'journal-50ms-slow-disk',
    question: `${question}, at a service that takes 50 ms and on a disk that takes 5 ms for a sync`,
    size: 500_000,
    open: (place) => open(place, 50, slowDisk),
  },
].filter(({ name }) => hasStrace || !name.endsWith('slow-disk'));

async function open({ size, folder }, latency, tracer = []) {
  const input = join(folder, 'profiles.csv');
  writeProfilesCsv(input, size);
  const sink = await startServer(
    fileURLToPath(new URL('harness/sink.js', import.meta.url)),
    latency,
  );
  const side = (name, ...flags) => {
    const args = ['upload', input, '--concurrency', '8', '--json', ...flags];
    const ours = engagectl(args, { url: sink.url, folder, name });
    return { ...ours, command: [...tracer, ...ours.command] };
  };
  const without = (name, ...flags) => ({ ...side(name, ...flags), role: 'peer' });
  return {
    records: size,
    sides: [
      side('journal and order'),
      without('no journal', '--no-journal'),
      without('neither', '--no-journal', '--order', 'none'),
    ],
    async watch({ digest }, run) {
      await sink.reset({ digest });
      await run();
      return sink.arrived();
    },
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  };
}

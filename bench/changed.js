// Question: what does it cost to find that nothing changed since the last run?
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeProfilesCsv } from './data.js';
import { engagectl } from './harness/sides.js';
import { startServer } from './harness/server.js';

/** --size 5000000 and 20000000 show what is asked for beyond; above five million the memory stays on the disk. */
export const changed = {
  name: 'changed',
  question: 'a CSV of which nothing changed: --changed, against a check and an upload of all of it',
  size: 1_000_000,
  guards: [
    { what: 'nothing changed ÷ check', of: 'nothing changed', to: 'check', most: 1.2 },
    { what: 'nothing changed: peak MiB', of: 'nothing changed', key: 'peakBytes', most: 143 },
  ],
  async open({ size, folder }) {
    const input = join(folder, 'profiles.csv');
    writeProfilesCsv(input, size);
    const sink = await startServer(fileURLToPath(new URL('harness/sink.js', import.meta.url)));
    const side = (name, ...flags) =>
      engagectl(['upload', input, '--json', ...flags], { url: sink.url, folder, name });
    // An upload without --changed marks its users as unknown, so it gets a state of its own.
    const other = join(folder, 'other');
    const sides = [
      side('nothing changed', '--changed'),
      { ...side('check', '--check'), role: 'peer' },
      {
        ...engagectl(['upload', input, '--json', '--no-journal'], {
          url: sink.url,
          folder: other,
          name: 'upload of all',
        }),
        role: 'more',
      },
    ];
    await sink.reset({ digest: false });
    remember(sides[0]);
    return {
      records: size,
      sides,
      async watch({ digest }, run) {
        await sink.reset({ digest });
        await run();
        return sink.arrived();
      },
      [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
    };
  },
};

/** The first run, which sends everything. */
function remember({ command: [program, ...args], env }) {
  const { status, stderr } = spawnSync(program, args, { env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`the first run failed: ${stderr.toString()}`);
}

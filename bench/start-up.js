// Question: how long does a person wait before the tool says or does anything?
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from './harness/server.js';
import { engagectl, peer } from './harness/sides.js';

const floor = peer('floor: node -e 0', [process.execPath, '-e', '0'], 'floor');

const startUp = (name, args) => ({
  name,
  question: `engagectl ${args.join(' ')} beside an empty Node program`,
  rounds: 21,
  open: async ({ folder }) => ({
    sides: [
      engagectl(args, { url: 'http://127.0.0.1:9', folder, name: `engagectl ${args.join(' ')}` }),
      floor,
    ],
    watch: async (_, run) => (await run(), {}),
    [Symbol.asyncDispose]: async () => undefined,
  }),
});

export const startUpVersion = startUp('start-up-version', ['--version']);
export const startUpHelp = startUp('start-up-help', ['upload', '--help']);

export const startUpUpload = {
  name: 'start-up-upload',
  question:
    'from the start of engagectl upload to the arrival of its first request, beside an empty Node program',
  rounds: 21,
  async open({ folder }) {
    const input = join(folder, 'two.csv');
    writeFileSync(input, 'identity,Name\na,Ann\nb,Ben\n');
    const sink = await startServer(fileURLToPath(new URL('harness/sink.js', import.meta.url)));
    return {
      sides: [engagectl(['upload', input, '--quiet'], { url: sink.url, folder }), floor],
      async watch(_, run) {
        await sink.reset();
        const { start } = await run();
        const { firstAt } = await sink.arrived();
        return firstAt === undefined ? {} : { instead: { wall: firstAt - start } };
      },
      [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
    };
  },
};

// Question: how long does a person wait before the tool says anything?
import { engagectl, peer } from './harness/sides.js';

const startUp = (name, args) => ({
  name,
  question: `engagectl ${args.join(' ')} beside an empty Node program`,
  rounds: 21,
  open: async ({ folder }) => ({
    sides: [
      engagectl(args, { url: 'http://127.0.0.1:9', folder, name: `engagectl ${args.join(' ')}` }),
      peer('floor: node -e 0', [process.execPath, '-e', '0'], 'floor'),
    ],
    watch: async (_, run) => (await run(), {}),
    [Symbol.asyncDispose]: async () => undefined,
  }),
});

export const startUpVersion = startUp('start-up-version', ['--version']);
export const startUpHelp = startUp('start-up-help', ['upload', '--help']);

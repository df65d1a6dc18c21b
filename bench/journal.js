// Question: what do the journal and the order of records cost an upload?
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeProfilesCsv } from './data.js';
import { engagectl } from './harness/sides.js';
import { startServer } from './harness/server.js';

export const journal = {
  name: 'journal',
  question: 'the same upload with journal and order, and without one or both of them',
  size: 1_000_000,
  async open({ size, folder }) {
    const input = join(folder, 'profiles.csv');
    writeProfilesCsv(input, size);
    const sink = await startServer(fileURLToPath(new URL('harness/sink.js', import.meta.url)));
    const side = (name, ...flags) =>
      engagectl(['upload', input, '--concurrency', '8', '--json', ...flags], {
        url: sink.url,
        folder,
        name,
      });
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
  },
};

// Question: what do checking and deriving cuids cost, compared with checking an upload of the same file?
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeCuidsCsv } from './data.js';
import { engagectl } from './harness/sides.js';

const check = 'engagectl upload --check';
const cuidCheck = 'engagectl cuid check';
const readable = 'engagectl cuid derive, readable';
const digested = 'engagectl cuid derive, with digests';
const keyed = 'engagectl cuid derive, keyed';

export const cuids = {
  name: 'cuids',
  question: 'CSV of 12 columns, nothing sent: its identities as cuids, and cuids made of them',
  size: 1_000_000,
  guards: [
    { what: 'cuid check ÷ upload --check', of: cuidCheck, to: check, most: 2 },
    { what: 'cuid derive, with digests ÷ upload --check', of: digested, to: check, most: 2 },
    { what: 'cuid derive, keyed ÷ upload --check', of: keyed, to: check, most: 2 },
    { what: 'cuid check: peak MiB', of: cuidCheck, key: 'peakBytes', most: 143 },
    { what: 'cuid derive: peak MiB', of: keyed, key: 'peakBytes', most: 143 },
  ],
  open({ size, folder }) {
    const input = join(folder, 'cuids.csv');
    writeCuidsCsv(input, size);
    const key = join(folder, 'key');
    writeFileSync(key, 'a key of more than sixteen characters\n');
    const derive = ['cuid', 'derive', input, '--from', 'identity', '-o', '/dev/null', '--json'];
    const ours = (name, args) => engagectl(args, { url: 'http://127.0.0.1:9', folder, name });
    return {
      records: size,
      sides: [
        ours(check, ['upload', input, '--check', '--json']),
        ours(cuidCheck, ['cuid', 'check', input, '--column', 'identity', '--json']),
        ours(readable, derive),
        // An identity has a `_`: without a digest two pairs could be joined to one.
        ours(digested, [...derive, '--device-column', 'Plan']),
        ours(keyed, [...derive, '--key-file', key]),
      ],
      async watch({ output }, run) {
        await run();
        // The rounds discard its output.
        return { records: output ? JSON.parse(readFileSync(output, 'utf8')).read : size };
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};

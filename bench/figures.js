// Benchmarks without a peer: programs of this folder that print their own figures, a line each.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeProfilesCsv, writeProfilesNdjson } from './data.js';

export const stages = {
  name: 'stages',
  question: 'what do the stages of an upload cost by themselves, without a request?',
  size: 1_000_000,
  figures({ size, folder }) {
    const csv = join(folder, 'profiles.csv');
    const ndjson = join(folder, 'profiles.ndjson');
    writeProfilesCsv(csv, size);
    writeProfilesNdjson(ndjson, size);
    return [
      ['cutting CSV', 'input.js', csv],
      ['mapping CSV', 'mapping.js', csv],
      ['cutting NDJSON', 'input.js', ndjson],
      ['mapping NDJSON', 'mapping.js', ndjson],
    ].map(([what, ...program]) => `${what}: ${output(...program)}`);
  },
};

export const service = {
  name: 'service',
  question: 'the local service: new profiles into a full store, and all events out of it',
  size: 1_000_000,
  figures: ({ size, folder }) =>
    output('service.js', '--profiles', size, '--events', size, '--folder', folder).split('\n'),
};

function output(program, ...args) {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const command = [path, ...args.map(String)];
  return execFileSync(process.execPath, command, { encoding: 'utf8' }).trim();
}

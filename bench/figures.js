// A benchmark without a peer: a program of this folder that prints its own figures, a line each.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

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

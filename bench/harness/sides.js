import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Our program as users install it. */
export const bin = fileURLToPath(new URL('../../bin/engagectl.js', import.meta.url));
const peers = fileURLToPath(new URL('../peers/', import.meta.url));

/** The side that is ours: the bin, with its configuration and state inside `folder`. */
export function engagectl(args, { url, folder, name = `engagectl ${args[0]}` }) {
  const env = {
    ENGAGECTL_BASE_URL: url,
    ENGAGECTL_ACCOUNT_ID: 'BENCH',
    ENGAGECTL_PASSCODE: 'bench',
    ENGAGECTL_CONFIG_DIR: join(folder, 'config'),
    ENGAGECTL_STATE_DIR: join(folder, 'state'),
  };
  return { name, role: 'ours', version: 'now', command: [process.execPath, bin, ...args], env };
}

/** The same sides by another version of our program, whose bin is given: a twin for each of ours, to stand beside it. */
export const twins = (sides, otherBin) =>
  sides
    .filter(({ version }) => version === 'now')
    .map((side) => ({
      ...side,
      name: `${side.name}, before`,
      role: 'peer',
      version: 'before',
      command: side.command.map((word) => (word === bin ? otherBin : word)),
    }));

export const peer = (name, command, role = 'peer') => ({ name, role, command });

/** The command line of a program in bench/peers. */
export function program(file, ...args) {
  const interpreter = file.endsWith('.py') ? 'python3' : process.execPath;
  return [interpreter, join(peers, file), ...args];
}

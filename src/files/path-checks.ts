import path, { resolve } from 'node:path';
import { accessSync, constants, lstatSync, statSync, realpathSync } from 'node:fs';
import { EngagectlError, groupDigits } from '../errors.js';
import { unwritablePathError, type Place } from './file-errors.js';
import { followOwnLinks, isOwn } from './ownership.js';
import type { Runtime } from '../runtime.js';

/**
 * Whether there is nothing at a path. Unlike `existsSync`, false for what cannot be reached: in a folder of another user,
 * or on a failing disk, there may be something.
 */
export function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/**
 * Refuses a path through a symbolic link of another user, who decides which file is written. Returns the path without
 * links. Throws E-FILE-WRITE.
 */
export function refuseForeignLink(
  file: string,
  { name, option }: Place,
  runtime: Pick<Runtime, 'uid'>,
): string {
  const { path: resolved, foreign } = followOwnLinks(file, runtime);
  if (!foreign) return resolved;
  const { link, owner } = foreign;
  const what = link === file ? name : link;
  throw new EngagectlError(
    'E-FILE-WRITE',
    `${what} is a symbolic link of another user (uid ${owner})`,
    {
      why: `its owner decides which file ${name} is`,
      fix: `name a path without that link: ${option}`,
      file: name,
    },
  );
}

/**
 * Refuses a named pipe of another user, who may have put it there to read what is written. Pipes of this process, such
 * as /dev/stdout, may belong to anybody. `file` is absolute. Throws E-FILE-WRITE.
 */
export function refuseForeignPipe(
  file: string,
  owner: number,
  place: Place,
  runtime: Pick<Runtime, 'uid'>,
): void {
  if (isOwn(owner, runtime) || systemFolders.test(placeOf(path.dirname(file), '/'))) return;
  throw foreignError('a named pipe', owner, 'whoever reads it gets the records', place);
}

/**
 * Refuses a file of another user in a folder that everybody can write to: it would pass for one of an earlier
 * export. `file` is absolute. Throws E-FILE-WRITE.
 */
export function refuseForeignFile(
  file: string,
  owner: number,
  place: Place,
  runtime: Pick<Runtime, 'uid'>,
): void {
  if (isOwn(owner, runtime) || (statSync(path.dirname(file)).mode & 0o002) === 0) return;
  throw foreignError('a file', owner, 'everybody can create files in its folder', place);
}

const foreignError = (
  kind: string,
  owner: number,
  why: string,
  { name, option }: Place,
): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `${name} is ${kind} of another user (uid ${owner})`, {
    why,
    fix: `name another file: ${option}`,
    file: name,
  });

/** Folders of devices and of open files, whose names a superuser could replace for everybody. */
const systemFolders = /^\/(?:dev|dev\/pts|proc(?:\/.*)?)$/;

/**
 * Refuses a file that could not be created later: its directory is missing or not writable, or its name
 * is too long; a path through a link of another user than `uid`; and pipes, devices, folders, and names such as
 * /dev/stdout. Changes nothing. Throws E-FILE-WRITE, and E-USAGE for such names.
 */
export function checkWritablePath(file: string, place: Place, runtime: Pick<Runtime, 'uid'>): void {
  refuseForeignLink(file, place, runtime);
  const folder = path.dirname(file);
  if (systemFolders.test(placeOf(folder, '/')) || isStream(file)) throw deviceError(place);
  try {
    statSync(folder);
    lstatSync(`${file}.partial`, { throwIfNoEntry: false });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw unwritablePathError(file, place, error);
  }
}

const deviceError = ({ name, what, option }: Place): EngagectlError =>
  new EngagectlError('E-USAGE', `${name} cannot be ${what}`, {
    why: 'it is a device or a stream, or a folder: no file can take its place',
    fix: `name a file: ${option}`,
    file: name,
  });

/**
 * Refuses an input that is named twice, however its path is spelled, also by hard links: its records
 * would be read twice, and some are not idempotent. Throws E-USAGE.
 */
export function refuseDuplicatePaths(names: readonly string[], cwd: string): void {
  if (names.length < 2) return;
  const firstAt = new Map<string, string>();
  const failures: string[] = [];
  for (const name of names) {
    const file = fileOf(name, cwd);
    const first = firstAt.get(file);
    if (first === undefined) firstAt.set(file, name);
    else
      failures.push(
        first === name
          ? `${displayName(name)} is named twice`
          : `${displayName(name)} and ${displayName(first)} are the same file`,
      );
  }
  if (failures.length === 0) return;
  const listed = failures.slice(0, maxListed);
  const more = failures.length - listed.length;
  const message = [...listed, ...(more > 0 ? [`and ${groupDigits(more)} more`] : [])].join('; ');
  throw new EngagectlError('E-USAGE', message, {
    why: 'what is in it would be taken twice',
    fix: 'name each input once',
  });
}

/**
 * Refuses an output that would replace an input of the run, however the paths are spelled. `file` is an
 * absolute path. Throws E-USAGE.
 */
export function refuseInputAsOutput(
  file: string,
  inputs: readonly string[],
  { name, what, option, cwd }: Place & { readonly cwd: string },
): void {
  const output = fileOf(file, cwd);
  if (!inputs.some((input) => fileOf(input, cwd) === output)) return;
  throw new EngagectlError('E-USAGE', `${name} is an input of this run`, {
    why: `${what} would replace it`,
    fix: `name another file with ${option}, one that no pattern of inputs matches`,
  });
}

/**
 * Refuses files that a command line names for writing, by option, if they are also read or written by
 * another option. Devices and pipes pass. Throws E-USAGE.
 */
export function refuseReplacedFiles(
  written: readonly (readonly [option: string, file: string])[],
  read: readonly string[],
  cwd: string,
): void {
  const optionAt = new Map<string, string>();
  for (const [option, name] of written) {
    const file = placeOf(name, cwd);
    if (name === '-' || isStream(file)) continue;
    const place = { name, what: `the file of ${option}`, option: `${option} <file>`, cwd };
    refuseInputAsOutput(file, read, place);
    const other = optionAt.get(file);
    optionAt.set(file, option);
    if (other === undefined) continue;
    throw new EngagectlError('E-USAGE', `${name} is the file of both ${other} and ${option}`, {
      why: 'one would replace the other',
      fix: `name another file with ${option} <file>`,
    });
  }
  for (const [file, option] of optionAt) {
    const other = optionAt.get(file.replace(derivedEnd, ''));
    if (other === option || other === undefined) continue;
    const name = path.basename(file);
    throw new EngagectlError('E-USAGE', `${name} may become a file of ${other}`, {
      why: 'an earlier file is renamed to a name like that, or the rest is written there: one would replace the other',
      fix: `name another file with ${option} <file>`,
    });
  }
}

/** The end of the name of a partial file, or of a file that was set aside. */
const derivedEnd = /(?:\.partial(?:\.[\w-]+)?)?(?:\.\d+)?$/;

function isStream(file: string): boolean {
  try {
    return !statSync(file).isFile();
  } catch {
    return false; // it does not exist, or cannot be written, which its own check reports
  }
}

/** Returns the resolved path, also of a file that does not exist. */
function placeOf(name: string, cwd: string): string {
  const file = resolve(cwd, name === '-' ? '/dev/stdin' : name);
  try {
    return realpathSync.native(file);
  } catch {
    const folder = path.dirname(file);
    return folder === file ? file : path.join(placeOf(folder, cwd), path.basename(file));
  }
}

/** Returns what identifies a file: its resolved path, or its inode if it has several names. */
function fileOf(name: string, cwd: string): string {
  const place = placeOf(name, cwd);
  try {
    const found = statSync(place, { bigint: true });
    return found.isFile() && found.nlink > 1n ? `${found.dev}:${found.ino}` : place;
  } catch {
    return place; // it does not exist, or cannot be read, which its own check reports
  }
}

const displayName = (name: string): string => (name === '-' ? 'standard input (-)' : name);

/** Maximum number of files listed in a message. */
const maxListed = 3;

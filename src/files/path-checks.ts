import path from 'node:path';
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { EngagectlError } from '../errors.js';

export interface Place {
  /** The file as it was named. */
  readonly name: string;
  /** What it is, like `the report`. */
  readonly what: string;
  /** What names another one, like `--report <file>`. */
  readonly option: string;
}

/**
 * Refuses a file that could not be made later on: its folder is missing or may not be written to, or
 * its name is too long. Changes nothing. Throws E-FILE-WRITE.
 */
export function refusePlace(file: string, place: Place): void {
  const folder = path.dirname(file);
  try {
    statSync(folder);
    lstatSync(`${file}.partial`, { throwIfNoEntry: false });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw unwritable(file, place, error);
  }
}

/** What is said of a file that cannot be written. */
export function unwritable(
  file: string,
  { name, what, option }: Place,
  cause: unknown,
): EngagectlError {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const [why, fix] = reasonOf(code, path.dirname(file)) ?? [message];
  const elsewhere = `name another place with ${option}`;
  return new EngagectlError('E-FILE-WRITE', `${what} ${name} could not be written`, {
    why,
    fix: fix === undefined ? elsewhere : `${fix}, or ${elsewhere}`,
    file: name,
    cause,
  });
}

function reasonOf(code: string, folder: string): readonly [why: string, fix?: string] | undefined {
  if (code === 'ENOENT') return [`there is no folder ${folder}`, 'make that folder'];
  if (code === 'ENOTDIR') return [`${folder} is no folder`];
  if (code === 'EACCES' || code === 'EPERM') return [`you may not write in the folder ${folder}`];
  if (code === 'EROFS') return [`the folder ${folder} can only be read`];
  if (code === 'ENAMETOOLONG') return ['its name is too long'];
  return undefined;
}

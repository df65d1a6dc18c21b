import path from 'node:path';
import { constants } from 'node:os';
import { EngagectlError, type OptionName } from '../errors.js';

/** Reasons for errno codes, in words. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file',
  ELOOP: 'it is a symbolic link',
  EMLINK: 'it is a symbolic link',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

/** Returns the code of an error of the file system. Node calls a used up quota UNKNOWN. */
export function fileErrorCode(error: unknown): string {
  const { code = '', errno } = Object(error) as NodeJS.ErrnoException;
  return errno === -constants.errno.EDQUOT ? 'EDQUOT' : code;
}

/** Whether no space on the disk helps, but other permissions. */
export const isWriteDenied = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EROFS'].includes(fileErrorCode(error));

/** Returns the first step after a file of a folder of our own could not be written. */
export const folderRepair = (error: unknown): string =>
  isWriteDenied(error) ? 'make the folder and its files writable' : 'free disk space';

/** Returns the error for what could not be saved in a folder of the state directory. */
export const notSaved = (
  what: string,
  folder: string,
  { cause, resumes = true }: { readonly cause: Error; readonly resumes?: boolean },
): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `cannot save ${what} in ${folder}`, {
    why: cause.message,
    fix: `${folderRepair(cause)}, then rerun the same command${resumes ? ' with --resume' : ''}`,
    ...(resumes && { resumes }),
    file: folder,
    cause,
  });

/** Returns why a file could not be used; for other errors their message. */
export function fileErrorReason(error: unknown): string {
  return reasons[fileErrorCode(error)] ?? (error as Error).message;
}

/** `{output}` stands for the option that names another path. */
const writeFailures: Record<string, readonly [why: string, fix: string]> = {
  ENOSPC: ['the disk is full', 'free some space, or write elsewhere with {output}'],
  EDQUOT: ['the disk quota is used up', 'free some space, or write elsewhere with {output}'],
  EFBIG: ['the file would exceed the size limit', 'raise the limit, or write a .gz'],
  EACCES: ['permission denied', 'choose another {output}, or change the permissions'],
  EPERM: ['permission denied', 'choose another {output}, or change the permissions'],
  EROFS: ['the file system is read-only', 'choose another {output}'],
  ENOENT: ['its folder does not exist', 'create the folder, or choose another {output}'],
  ENOTDIR: ['part of its path is not a folder', 'choose another {output}'],
  EPIPE: ['what read it is gone', 'start the reader again, then the export'],
  EISDIR: ['it is a folder', 'name a file in it with {output}'],
  ELOOP: ['it is a symbolic link', 'remove the link, or choose another {output}'],
};

/** Builds the error for an input that cannot be read: E-FILE-READ, exit 9. */
export const fileReadError = (file: string, fix: string, cause: unknown): EngagectlError =>
  new EngagectlError('E-FILE-READ', `${file} cannot be read`, {
    why: fileErrorReason(cause),
    fix,
    file,
    cause,
  });

interface FileFailure {
  readonly file: string;
  readonly done: 'opened' | 'created' | 'read' | 'written' | 'set aside' | 'removed' | 'finished';
  readonly option: OptionName;
}

/** Builds the error for an output that could not be opened, written or renamed: E-FILE-WRITE, exit 9. */
export function fileWriteError(
  { file, done, option }: FileFailure,
  cause: unknown,
): EngagectlError {
  const { message } = cause as Error;
  const [why, fix] = writeFailures[fileErrorCode(cause)] ?? [message, 'choose another {output}'];
  return new EngagectlError('E-FILE-WRITE', `${file} could not be ${done}`, {
    why,
    fix: fix.replace('{output}', option('output')),
    file,
    cause,
  });
}

/** How messages name a file that is written. */
export interface Place {
  /** File name as given. */
  readonly name: string;
  /** Noun, like `the report`. */
  readonly what: string;
  /** Option that names another file, like `--report <file>`. */
  readonly option: string;
}

/** Builds the error for a file that cannot be written. */
export function unwritablePathError(
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
  if (code === 'ENOTDIR') return [`${folder} is not a folder`];
  if (code === 'EACCES' || code === 'EPERM') return [`you may not write in the folder ${folder}`];
  if (code === 'EROFS') return [`the folder ${folder} can only be read`];
  if (code === 'ELOOP') return ['it is a symbolic link', 'name the file that it leads to'];
  if (code === 'ENAMETOOLONG') return ['its name is too long'];
  return undefined;
}

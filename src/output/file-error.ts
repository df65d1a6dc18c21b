import { EngagectlError, type OptionName } from '../errors.js';

/** Why, and what to do; `output` is how the option is called that names another place. */
const reasons: Record<string, readonly [why: string, fix: (output: string) => string]> = {
  ENOSPC: ['the disk is full', (output) => `free some space, or write elsewhere with ${output}`],
  EDQUOT: [
    'the disk quota is used up',
    (output) => `free some space, or write elsewhere with ${output}`,
  ],
  EFBIG: ['the file would exceed the size limit', () => 'raise the limit, or write a .gz'],
  EACCES: ['permission denied', (output) => `choose another ${output}, or change the permissions`],
  EPERM: ['permission denied', (output) => `choose another ${output}, or change the permissions`],
  EROFS: ['the file system is read-only', (output) => `choose another ${output}`],
  ENOENT: [
    'its folder does not exist',
    (output) => `create the folder, or choose another ${output}`,
  ],
  ENOTDIR: ['a part of its path is no folder', (output) => `choose another ${output}`],
  EPIPE: ['what read it is gone', () => 'start the reader again, then the export'],
  EISDIR: ['it is a folder', (output) => `name a file in it with ${output}`],
};

interface FileFailure {
  readonly file: string;
  readonly done: 'opened' | 'created' | 'read' | 'written' | 'set aside' | 'finished';
  readonly option: OptionName;
}

/** An output that could not be opened, written or renamed: E-FILE-WRITE, exit 9. */
export function fileError({ file, done, option }: FileFailure, cause: unknown): EngagectlError {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const output = option('output');
  const [why, fix] = reasons[code] ?? [message, () => `choose another ${output}`];
  const details = { why, fix: fix(output), file, cause };
  return new EngagectlError('E-FILE-WRITE', `${file} could not be ${done}`, details);
}

import { EngagectlError } from '../../errors.js';

/** Work on the files of a memory. Throws E-FILE-WRITE for what the file system says. */
export function onDisk<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw notKept(folder, cause);
  }
}

/** The same for work that takes its time. */
export const onDiskLater = async (folder: string, work: () => Promise<void>): Promise<void> =>
  work().catch((cause: unknown) => {
    throw notKept(folder, cause);
  });

function notKept(folder: string, cause: unknown): unknown {
  if (cause instanceof EngagectlError || !isOfFiles(cause)) return cause;
  return new EngagectlError('E-FILE-WRITE', `what was accepted cannot be kept in ${folder}`, {
    why: cause.message,
    fix: 'free space, or mend the disk; the same command with --resume goes on',
    file: folder,
    cause,
  });
}

const isOfFiles = (cause: unknown): cause is Error => cause instanceof Error && 'syscall' in cause;

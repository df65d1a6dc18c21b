import { rm } from 'node:fs/promises';
import { MarkedFile, type FileMark } from './checkpoint-file.js';
import { publish } from './publish.js';
import { partialExists, type FileTarget } from './partial-file.js';
import type { Sink } from './sink.js';

interface FileSinkOptions {
  readonly overwrite: boolean;
  /** Go on from here in a partial that an earlier process left. */
  readonly resume: FileMark | undefined;
}

/**
 * A file under its partial name, 0600, which gets its final name at the end and not before:
 * whoever finds the final name finds a whole document.
 */
export async function openFileSink(
  target: FileTarget,
  { overwrite, resume }: FileSinkOptions,
): Promise<Sink> {
  const file = await openPartial(target, resume);
  let isPublished = false;
  return {
    name: target.name,
    rewindable: true,
    file,
    publish: async () => {
      isPublished = true;
      await file.close();
      await publish(target, { overwrite });
    },
    close: async () => {
      if (isPublished) return;
      await file.close();
      if (file.mark.bytes === 0) await rm(target.partial, { force: true });
    },
  };
}

async function openPartial(target: FileTarget, resume?: FileMark): Promise<MarkedFile> {
  if (resume) return MarkedFile.resume(target.partial, resume, target.option);
  try {
    return await MarkedFile.create(target.partial, target.option);
  } catch (error) {
    // It was not there when the run began: another process was faster.
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? partialExists(target) : error;
  }
}

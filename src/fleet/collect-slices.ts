import { createReadStream, createWriteStream, existsSync, renameSync, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { EngagectlError } from '../errors.js';

/** A file and the slices that make it up, in their order. */
export interface CollectedFile {
  readonly target: string;
  readonly slices: readonly string[];
}

/**
 * Puts slices together; members of gzip may follow each other as well. A file has its name once it
 * is whole. Returns the bytes. Throws E-OUTPUT-EXISTS, E-FILE-WRITE.
 */
export async function collectSlices(
  files: readonly CollectedFile[],
  overwrite: boolean,
): Promise<number> {
  const there = overwrite ? undefined : files.find(({ target }) => existsSync(target));
  if (there) {
    throw new EngagectlError('E-OUTPUT-EXISTS', `${there.target} exists`, {
      fix: 'add --overwrite, or name another file',
      file: there.target,
    });
  }
  let bytes = 0;
  for (const { target, slices } of files) {
    const draft = `${target}.partial`;
    try {
      await pipeline(contents(slices), createWriteStream(draft, { mode: 0o600, flush: true }));
      renameSync(draft, target);
    } catch (cause) {
      throw new EngagectlError('E-FILE-WRITE', `cannot write ${target}`, {
        why: (cause as Error).message,
        fix: 'make room, or name another place',
        file: target,
        cause,
      });
    }
    bytes += statSync(target).size;
  }
  return bytes;
}

async function* contents(slices: readonly string[]): AsyncGenerator<Buffer> {
  for (const slice of slices) {
    for await (const chunk of createReadStream(slice)) yield chunk as Buffer;
  }
}

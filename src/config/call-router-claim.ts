import path from 'node:path';
import { readFile } from 'node:fs/promises';
import { otherDataDirectory } from './directories.js';
import { EngagectlError } from '../errors.js';
import { makePrivateFolder, replaceFile } from '../files/atomic-write.js';
import { fileErrorReason } from '../files/file-errors.js';
import { tryLockRun } from '../files/file-lock.js';

/**
 * Held by the process that routes the calls of a data directory, until it is released or the process
 * ends.
 */
export interface RouterClaim {
  /** Publishes the router's address to other processes. */
  announce(url: string): void;
  release(): void;
}

/** Undefined if another process holds it. */
export async function claimRouter(folder: string): Promise<RouterClaim | undefined> {
  try {
    makePrivateFolder(folder);
    const lock = await tryLockRun(path.join(folder, 'call-router.lock'));
    return (
      lock && {
        announce: (url) => announce(folder, url),
        release: () => lock.release(),
      }
    );
  } catch (error) {
    throw claimFailed(folder, error);
  }
}

const claimFailed = (folder: string, cause: unknown): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `${folder}: calls cannot be routed from it`, {
    why: fileErrorReason(cause),
    fix: otherDataDirectory,
    file: folder,
    cause,
  });

/** Returns the address of the directory's last router, which may have ended. */
export async function announcedRouter(folder: string): Promise<string | undefined> {
  try {
    const text = await readFile(fileOf(folder), 'utf8');
    const { url } = JSON.parse(text) as { readonly url?: unknown };
    return typeof url === 'string' && URL.canParse(url) ? url : undefined;
  } catch {
    return undefined; // none yet, or an invalid file, which the next router replaces
  }
}

function announce(folder: string, url: string): void {
  try {
    replaceFile(fileOf(folder), `${JSON.stringify({ url })}\n`);
  } catch (error) {
    throw claimFailed(folder, error);
  }
}

const fileOf = (folder: string): string => path.join(folder, 'call-router.json');

import { rm } from 'node:fs/promises';

/**
 * Removes a file that nothing needs any more. That this fails is no failure of an export that is
 * whole; returns what to say about it.
 */
export async function removeSpent(path: string): Promise<string | undefined> {
  try {
    await rm(path, { force: true });
    return undefined;
  } catch (error) {
    return `${path} is not needed any more and cannot be removed: ${(error as Error).message}`;
  }
}

import { readdirSync, readlinkSync } from 'node:fs';

/** Whether another process has the file open. On Linux; false once it has ended. */
export function hasOpen(pid: number, file: string): boolean {
  try {
    const descriptors = `/proc/${pid}/fd`;
    return readdirSync(descriptors).some((each) => readlinkSync(`${descriptors}/${each}`) === file);
  } catch {
    return false; // ended, or one of them was closed meanwhile
  }
}

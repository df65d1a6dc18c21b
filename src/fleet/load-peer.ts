import { EngagectlError } from '../errors.js';

/** Loads a package that only a fleet needs, and that is not installed with the program. */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    const driver = name === 'bullmq' ? 'ioredis' : name;
    throw new EngagectlError('E-CONFIG', `a fleet needs the package ${name}`, {
      why: 'it is not installed: no other command needs it',
      fix: `npm install bullmq ${driver}${name === 'bullmq' ? ' (or pg, for PostgreSQL)' : ''}`,
      cause,
    });
  }
}

import { EngagectlError } from '../errors.js';
import type { RunningService, ServiceOptions } from '../service/start.js';

/**
 * Starts the embedded service, which is loaded only now. E-USAGE for a port that cannot be had,
 * E-FILE-WRITE for a store that cannot be opened.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const service = await import('../service/start.js');
  try {
    return await service.startService(options);
  } catch (error) {
    const { code = '', syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === 'listen') throw portRefused(options.port, code);
    if (options.dataDir === undefined || !/^(SQLITE_|E[A-Z]+$)/.test(code)) throw error;
    throw new EngagectlError('E-FILE-WRITE', `${options.dataDir}: the store cannot be opened`, {
      why: message,
      fix: 'check the folder and its disk, or take another one: ENGAGECTL_STATE_DIR, serve --data <dir>',
      file: options.dataDir,
      cause: error,
    });
  }
}

function portRefused(port: number, code: string): EngagectlError {
  return new EngagectlError('E-USAGE', `port ${port} cannot be listened on (${code})`, {
    why: code === 'EADDRINUSE' ? 'another program listens on it' : 'this user may not use it',
    fix: 'choose another with --port <n>; --port 0 takes any free one',
  });
}

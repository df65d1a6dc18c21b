import type { ServiceOptions } from '../../src/service/start.js';

/** A local service without whims, in memory, on any free port; who starts it names the account. */
export const serviceDefaults: Omit<ServiceOptions, 'accountId' | 'passcode'> = {
  dataDir: undefined,
  port: 0,
  headerPrefixes: ['X-Service'],
  timezone: 'UTC',
  latencyMs: 0,
  pendingPolls: 0,
  failRate: 0,
  maxConcurrent: { upload: 15, other: 3 },
  variants: {},
  random: Math.random,
  now: Date.now,
};

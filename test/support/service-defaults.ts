import type { ServiceOptions } from '../../src/service/start.js';
import { randomOf } from '../chaos/random.js';

const random = randomOf(1);

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
  random: () => random.next(),
  now: Date.now,
};

import type { Directory } from './directory.js';
import type { User } from './user.js';

/** JSON text of the array of all that registered, in order of their cuids. */
export const deviceList = (directory: Directory): string =>
  JSON.stringify([...directory.all()].map(deviceOf));

const deviceOf = (user: User): object => ({
  cuid: user.cuid,
  deviceId: user.device.deviceId,
  platform: user.device.platform,
  state: user.loggedOut ? 'loggedOut' : user.session ? 'connected' : 'away',
  /** Frames that it has not seen. */
  waiting: user.inbox.size,
  callId: user.call?.id ?? null,
  /** Milliseconds since 1970. */
  registeredAt: user.registeredAt,
});

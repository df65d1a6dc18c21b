import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import connectorOf from 'undici/lib/core/connect.js';

/** Most bytes of one read: of Node's own, 64 KB, what is done for each takes a quarter of an export's time. */
const blockBytes = 512 * 1024;

/** Opens connections, each within `timeout` milliseconds, that read at a time what has arrived by then. */
export const connectorWithin =
  (timeout: number): buildConnector.connector =>
  (options, callback) => {
    const onread = blocksFor((bytes) => socket.push(bytes));
    const socket: Socket = connectorOf({ timeout, onread })(options, callback);
  };

/** Memory to read into, used once: small answers lie in a block one behind the other. */
function blocksFor(push: (bytes: Buffer) => boolean) {
  let room = Buffer.alloc(0);
  return {
    buffer: () => {
      if (room.length < blockBytes / 2) room = Buffer.allocUnsafeSlow(blockBytes);
      return room;
    },
    callback: (length: number) => {
      const bytes = room.subarray(0, length);
      room = room.subarray(length);
      return push(bytes);
    },
  };
}

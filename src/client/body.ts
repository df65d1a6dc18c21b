import { FailureError } from './failure.js';
import type { RawAnswer } from './transport.js';

/** Longest answer that is held in memory: longer than any batch of 4 MiB with its records echoed. */
const answerBytes = 64 * 1024 * 1024;

/** The whole body. Throws FailureError when it breaks off or is longer than any real answer. */
export async function wholeBody({ read, status }: RawAnswer): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  await read((chunk) => {
    length += chunk.length;
    if (length > answerBytes) {
      const message = `HTTP ${status} with a body of more than ${answerBytes} bytes`;
      throw new FailureError({ kind: 'unreadable', sent: true, message });
    }
    parts.push(chunk);
  });
  return Buffer.concat(parts, length);
}

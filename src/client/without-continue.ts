import type { Socket } from 'node:net';

type Push = (bytes: Buffer) => boolean;

/** Bytes in which a `100 Continue` ends. */
const longest = 4096;
const interim = /^HTTP\/1\.[01] 100[ \r\n][^]*?\r?\n\r?\n/;

/**
 * Hands on what comes from a socket, but for a `100 Continue` before an answer. Some servers send
 * it unasked, as they may, and undici would give the request up.
 */
export function withoutContinue(socket: () => Socket, push: Push): Push {
  let asked = 0;
  /** The beginning of an answer as long as it may be a `100 Continue`. */
  let held: Buffer | undefined;
  return (bytes) => {
    const { bytesWritten } = socket();
    if (bytesWritten !== asked) held = Buffer.alloc(0); // after a request comes its answer
    asked = bytesWritten;
    if (held === undefined) return push(bytes);
    let answer = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    for (;;) {
      const head = answer.toString('latin1', 0, longest);
      const found = interim.exec(head)?.[0].length ?? 0;
      answer = answer.subarray(found);
      if (found > 0) continue;
      held = mayBeInterim(head) ? answer : undefined;
      return held !== undefined || push(answer);
    }
  };
}

const mayBeInterim = (head: string): boolean =>
  head.length < longest &&
  ['HTTP/1.1 100', 'HTTP/1.0 100'].some((start) => start.startsWith(head.slice(0, start.length)));

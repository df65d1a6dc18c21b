import type { Ack, AckData, RefusalName } from '../../calling/protocol.js';
import type { Session } from './user.js';
import type { Turn } from './turn-transaction.js';

/** Answers one frame of a session: by `ok`, before anything else that follows from it, or by `refuse`. */
export interface Reply {
  ok(data?: AckData[keyof AckData]): void;
  refuse(name: RefusalName, message: string): void;
  /** Refuses, and closes the socket. */
  close(name: RefusalName, message: string, code: number): void;
}

export function replyTo(session: Session, re: number, turn: Turn): Reply {
  const send = (ack: Ack): void => turn.send(() => session.send(JSON.stringify(ack)));
  const refuse: Reply['refuse'] = (name, message) =>
    send({ t: 'ack', re, ok: false, err: { name, message } });
  return {
    ok: (data) => send({ t: 'ack', re, ok: true, ...(data ? { data } : {}) }),
    refuse,
    close(name, message, code) {
      refuse(name, message);
      turn.send(() => session.close(code, message));
    },
  };
}

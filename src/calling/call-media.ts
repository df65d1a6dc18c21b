import type { Environment } from './environment.js';
import type { MediaSession } from './media.js';
import type { MediaOptions } from './media.js';

/** What a call's voice asks of the call. */
export interface CallMediaEvents {
  signal(payload: unknown): void;
  connected(): void;
  /** There will be no voice. */
  failed(): void;
}

/** The voice of one call, from its answer to its end. */
export class CallMedia {
  readonly #env: Environment;
  readonly #events: CallMediaEvents;
  #session: MediaSession | undefined;
  #isClosed = false;
  /** What the other side signalled before this side was there to hear it. */
  #early: unknown[] = [];
  #handler: ((payload: unknown) => void) | undefined;

  constructor(env: Environment, events: CallMediaEvents) {
    this.#env = env;
    this.#events = events;
  }

  async open(role: MediaOptions['role']): Promise<void> {
    try {
      const session = await this.#env.media.open({
        role,
        sendSignal: (payload) => !this.#isClosed && this.#events.signal(payload),
        onSignal: (handler) => this.#handOver(handler),
      });
      if (this.#isClosed) session.close();
      else this.#session = session;
      await session.connected;
      if (!this.#isClosed) this.#events.connected();
    } catch (error) {
      if (this.#isClosed) return;
      this.#env.log.info(`no voice: ${String(error)}`);
      this.#events.failed();
    }
  }

  hear(payload: unknown): void {
    if (this.#handler === undefined) this.#early.push(payload);
    else this.#handler(payload);
  }

  close(): void {
    this.#isClosed = true;
    this.#session?.close();
    this.#session = undefined;
  }

  #handOver(handler: (payload: unknown) => void): void {
    this.#handler = handler;
    const early = this.#early;
    this.#early = [];
    for (const payload of early) handler(payload);
  }
}

import type { RouterFrame, RouterFrames } from '../../calling/protocol.js';

const mostFrames = 100;
/** Characters of all frames together: media descriptions are long, and come as often as a client likes. */
const mostText = 256 * 1024;
const longestWait = 24 * 3_600_000;

/** A frame as it is sent. `at`: milliseconds since 1970. */
interface Waiting {
  readonly at: number;
  readonly frame: RouterFrame;
  readonly text: string;
}

/** An inbox as it is stored: the texts of its frames with their times. */
export interface StoredInbox {
  readonly seq: number;
  readonly frames: readonly (readonly [at: number, text: string])[];
}

/** Frame of the router that has no number yet. */
export type UnnumberedFrame = {
  [T in keyof RouterFrames]: { readonly t: T } & RouterFrames[T];
}[keyof RouterFrames];

/**
 * The frames for a cuid that it has not seen: sent again on its next socket, at most 100 and for a
 * day. Their numbers only grow.
 */
export class Inbox {
  #seq: number;
  #frames: Waiting[];
  #length = 0;

  constructor({ seq, frames }: StoredInbox = { seq: 0, frames: [] }) {
    this.#seq = seq;
    this.#frames = frames.map(([at, text]) => ({
      at,
      text,
      frame: JSON.parse(text) as RouterFrame,
    }));
    this.#length = this.#frames.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** The number of the newest frame. */
  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#frames.length;
  }

  /** Adds a frame; returns its text. When there is no room, media descriptions go first, then the oldest. */
  post(letter: UnnumberedFrame, now: number): string {
    const frame: RouterFrame = { ...letter, seq: ++this.#seq };
    const text = JSON.stringify(frame);
    this.#frames.push({ at: now, frame, text });
    this.#length += text.length;
    while (this.#frames.length > mostFrames || this.#length > mostText) {
      const media = this.#frames.findIndex(({ frame: { t } }) => t === 'sdp');
      const [gone] = this.#frames.splice(Math.max(media, 0), 1);
      this.#length -= gone?.text.length ?? 0;
    }
    return text;
  }

  /** Drops the frames up to this number, which the client has. */
  seen(seq: number): void {
    this.#keep(({ frame }) => frame.seq > seq);
  }

  /** Drops what makes no sense once the call is over: its offer and its media descriptions. */
  forgetCall(callId: string): void {
    this.#keep(
      ({ frame }) => frame.callId !== callId || (frame.t !== 'incoming' && frame.t !== 'sdp'),
    );
  }

  /** The texts of the frames that wait still. */
  waiting(now: number): string[] {
    this.#keep(({ at }) => now - at < longestWait);
    return this.#frames.map(({ text }) => text);
  }

  toJSON(): StoredInbox {
    return { seq: this.#seq, frames: this.#frames.map(({ at, text }) => [at, text]) };
  }

  #keep(isKept: (waiting: Waiting) => boolean): void {
    this.#frames = this.#frames.filter(isKept);
    this.#length = this.#frames.reduce((sum, { text }) => sum + text.length, 0);
  }
}

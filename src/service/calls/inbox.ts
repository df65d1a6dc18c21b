import type { RouterFrame, RouterFrames } from '../../calling/protocol.js';

const maxFrames = 100;
/** Maximum characters of all frames together, since a client may send any number of media descriptions. */
const maxCharacters = 256 * 1024;
const maxAgeMs = 24 * 3_600_000;

/** A frame and its text. `at` is in epoch milliseconds. */
interface Waiting {
  readonly at: number;
  readonly frame: RouterFrame;
  readonly text: string;
}

/** Stored form of an inbox. */
export interface StoredInbox {
  readonly seq: number;
  readonly frames: readonly (readonly [at: number, text: string])[];
}

/** Frame of the router without its sequence number. */
export type UnnumberedFrame = {
  [T in keyof RouterFrames]: { readonly t: T } & RouterFrames[T];
}[keyof RouterFrames];

/**
 * Unacknowledged frames of a cuid, which are resent on its next socket: at most 100, for at most a day.
 * Sequence numbers only increase.
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

  /** Sequence number of the newest frame. */
  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#frames.length;
  }

  /** Adds a frame and returns its text. A full inbox drops media descriptions first, then the oldest frames. */
  add(unnumbered: UnnumberedFrame, now: number): string {
    const frame: RouterFrame = { ...unnumbered, seq: ++this.#seq };
    const text = JSON.stringify(frame);
    this.#frames.push({ at: now, frame, text });
    this.#length += text.length;
    while (this.#frames.length > maxFrames || this.#length > maxCharacters) {
      const media = this.#frames.findIndex(({ frame: { t } }) => t === 'sdp');
      const [gone] = this.#frames.splice(Math.max(media, 0), 1);
      this.#length -= gone?.text.length ?? 0;
    }
    return text;
  }

  /** Drops the frames up to a sequence number, which the client has received. */
  acknowledge(seq: number): void {
    this.#keep(({ frame }) => frame.seq > seq);
  }

  /** Drops the offer and the media descriptions of a call that has ended. */
  forgetCall(callId: string): void {
    this.#keep(
      ({ frame }) => frame.callId !== callId || (frame.t !== 'incoming' && frame.t !== 'sdp'),
    );
  }

  /** Returns the texts of the waiting frames. */
  waiting(now: number): string[] {
    this.#keep(({ at }) => now - at < maxAgeMs);
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

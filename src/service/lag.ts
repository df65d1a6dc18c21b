import type { Clock } from './clock.js';

/** Writes that reads do not see yet: they are carried out, in their order, when they are due. */
export class Lag {
  readonly #milliseconds: number;
  readonly #clock: Clock;
  #waiting: { readonly due: number; readonly write: () => void }[] = [];

  constructor(seconds: number, clock: Clock) {
    this.#milliseconds = 1000 * seconds;
    this.#clock = clock;
  }

  get isOn(): boolean {
    return this.#milliseconds > 0;
  }

  /** Carries a write out: now, or when reads shall see it. */
  carryOut(write: () => void): void {
    if (this.isOn) this.#waiting.push({ due: this.#clock.now() + this.#milliseconds, write });
    else write();
  }

  /** Before a read. */
  catchUp(): void {
    const now = this.#clock.now();
    while (this.#waiting[0] && this.#waiting[0].due <= now) this.#waiting.shift()!.write();
  }

  /** When the service closes: what was accepted is kept. */
  finish(): void {
    for (const { write } of this.#waiting.splice(0)) write();
  }

  /** What was written before a reset or a restore is gone. */
  clear(): void {
    this.#waiting = [];
  }
}

/** The service's time, which a test may stop and move. Milliseconds since 1970. */
export class Clock {
  readonly #world: () => number;
  #stoppedAt: number | undefined;
  #ahead = 0;

  constructor(world: () => number) {
    this.#world = world;
  }

  now(): number {
    return (this.#stoppedAt ?? this.#world()) + this.#ahead;
  }

  get isStopped(): boolean {
    return this.#stoppedAt !== undefined;
  }

  /** Stops at this instant. */
  stopAt(milliseconds: number): void {
    this.#stoppedAt = milliseconds;
    this.#ahead = 0;
  }

  /** Moves by so much; a clock that ran goes on from there. */
  advance(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  /** Runs with the world's clock again. */
  release(): void {
    this.#stoppedAt = undefined;
    this.#ahead = 0;
  }
}

/** Writes that reads do not see yet: they are carried out, in their order, when they are due. */
export class WriteLag {
  readonly #milliseconds: number;
  readonly #clock: Clock;
  readonly #onFailure: (error: unknown) => void;
  #waiting: { readonly due: number; readonly write: () => void }[] = [];

  /** `onFailure` receives the error of a delayed write: its request was answered long ago. */
  constructor(seconds: number, clock: Clock, onFailure: (error: unknown) => void) {
    this.#milliseconds = 1000 * seconds;
    this.#clock = clock;
    this.#onFailure = onFailure;
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
    while (this.#waiting[0] && this.#waiting[0].due <= now) {
      this.#carryOut(this.#waiting.shift()!.write);
    }
  }

  /** When the service closes: what was accepted is kept. */
  finish(): void {
    for (const { write } of this.#waiting.splice(0)) this.#carryOut(write);
  }

  /** What was written before a reset or a restore is gone. */
  clear(): void {
    this.#waiting = [];
  }

  /** A failure must not end the read that happened to come next, nor the writes behind it. */
  #carryOut(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#onFailure(error);
    }
  }
}

/** The times that run for calls and sockets. They keep no process alive. */
export class Timers {
  readonly #running = new Set<NodeJS.Timeout>();
  #isStopped = false;

  /** Calls `ring` after `milliseconds`, unless what it returns was called before. */
  after(milliseconds: number, ring: () => void): () => void {
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      ring();
    }, milliseconds);
    return this.#keep(timer);
  }

  /** Calls `ring` after each `milliseconds`. */
  every(milliseconds: number, ring: () => void): () => void {
    return this.#keep(setInterval(ring, milliseconds));
  }

  /** For good. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }

  #keep(timer: NodeJS.Timeout): () => void {
    timer.unref();
    if (this.#isStopped) clearTimeout(timer);
    else this.#running.add(timer);
    return () => {
      clearTimeout(timer);
      this.#running.delete(timer);
    };
  }
}

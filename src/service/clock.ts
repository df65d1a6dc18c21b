/** The clock of the service, in milliseconds since 1970. Tests can stop and move it. */
export class Clock {
  readonly #wallClock: () => number;
  #stoppedAt: number | undefined;
  #ahead = 0;

  constructor(wallClock: () => number) {
    this.#wallClock = wallClock;
  }

  now(): number {
    return (this.#stoppedAt ?? this.#wallClock()) + this.#ahead;
  }

  get isStopped(): boolean {
    return this.#stoppedAt !== undefined;
  }

  /** Stops at this instant. */
  stopAt(milliseconds: number): void {
    this.#stoppedAt = milliseconds;
    this.#ahead = 0;
  }

  /** Moves the clock forward, or back for a negative number. A running clock keeps running. */
  advance(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  /** Returns to the system clock. */
  release(): void {
    this.#stoppedAt = undefined;
    this.#ahead = 0;
  }
}

/** Delays writes (`--lag`): they are applied in order when they are due. */
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

  /** Applies a write, now or when it is due. */
  schedule(write: () => void): void {
    if (this.isOn) this.#waiting.push({ due: this.#clock.now() + this.#milliseconds, write });
    else write();
  }

  /** Applies the writes that are due. Call it before each read. */
  applyDue(): void {
    const now = this.#clock.now();
    while (this.#waiting[0] && this.#waiting[0].due <= now) {
      this.#apply(this.#waiting.shift()!.write);
    }
  }

  /** Applies all pending writes: a service that closes keeps what it accepted. */
  finish(): void {
    for (const { write } of this.#waiting.splice(0)) this.#apply(write);
  }

  /** Drops all pending writes. */
  clear(): void {
    this.#waiting = [];
  }

  /** A failure must not fail the read that triggered it, nor skip later writes. */
  #apply(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#onFailure(error);
    }
  }
}

/** Timers of calls and sockets. They do not keep the process alive. */
export class Timers {
  readonly #running = new Set<NodeJS.Timeout>();
  #isStopped = false;

  /** Calls `ring` after `milliseconds`. The returned function cancels it. */
  after(milliseconds: number, ring: () => void): () => void {
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      ring();
    }, milliseconds);
    return this.#keep(timer);
  }

  /** Calls `ring` every `milliseconds`. The returned function cancels it. */
  every(milliseconds: number, ring: () => void): () => void {
    return this.#keep(setInterval(ring, milliseconds));
  }

  /** Cancels all timers; timers that are started later never fire. */
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

/** The clock of the service, in milliseconds since 1970. Tests can stop and move it. */
export class Clock {
  readonly #wallClock: () => number;
  #stoppedAt: number | undefined;
  #ahead = 0;
  readonly #alarms = new Set<Alarm>();

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
    this.#rescheduleAlarms();
  }

  /** Moves the clock forward, or back for a negative number. A running clock keeps running. */
  advance(milliseconds: number): void {
    const end = this.#ahead + milliseconds;
    for (;;) {
      const next = this.#earliestAlarm();
      const ahead = next && next.due - (this.now() - this.#ahead);
      if (next === undefined || ahead! > end) break;
      // An alarm rings at its own time, so that one that it sets is due in this advance, too.
      this.#ahead = Math.max(this.#ahead, ahead!);
      this.#ring(next);
    }
    this.#ahead = end;
    this.#rescheduleAlarms();
  }

  /** Returns to the system clock. */
  release(): void {
    this.#stoppedAt = undefined;
    this.#ahead = 0;
    this.#rescheduleAlarms();
  }

  /**
   * Calls `ring` when this clock is `milliseconds` ahead: a stopped clock does not until it is moved. The returned
   * function cancels it.
   */
  after(milliseconds: number, ring: () => void): () => void {
    const alarm: Alarm = { due: this.now() + milliseconds, ring, timer: undefined };
    this.#alarms.add(alarm);
    this.#schedule(alarm);
    return () => {
      clearTimeout(alarm.timer);
      this.#alarms.delete(alarm);
    };
  }

  #earliestAlarm(): Alarm | undefined {
    let earliest: Alarm | undefined;
    for (const alarm of this.#alarms) if (alarm.due < (earliest?.due ?? Infinity)) earliest = alarm;
    return earliest;
  }

  #rescheduleAlarms(): void {
    for (const alarm of this.#alarms) this.#schedule(alarm);
  }

  #schedule(alarm: Alarm): void {
    clearTimeout(alarm.timer);
    if (this.isStopped) return;
    alarm.timer = setTimeout(() => this.#ring(alarm), Math.max(0, alarm.due - this.now()));
    alarm.timer.unref();
  }

  #ring(alarm: Alarm): void {
    clearTimeout(alarm.timer);
    if (this.#alarms.delete(alarm)) alarm.ring();
  }
}

interface Alarm {
  /** Milliseconds since 1970. */
  readonly due: number;
  readonly ring: () => void;
  timer: NodeJS.Timeout | undefined;
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

/** Timers of calls or sockets, which are cancelled together. They do not keep the process alive. */
export class Timers {
  readonly #running = new Set<() => void>();
  readonly #schedule: Clock['after'];
  #isStopped = false;

  /** `schedule` is `after` of a clock that tests move; default: the system's timers. */
  constructor(schedule: Clock['after'] = afterTimeout) {
    this.#schedule = schedule;
  }

  /** Calls `ring` after `milliseconds`. The returned function cancels it. */
  after(milliseconds: number, ring: () => void): () => void {
    if (this.#isStopped) return () => undefined;
    const cancel = this.#schedule(milliseconds, () => {
      this.#running.delete(cancel);
      ring();
    });
    return this.#keep(cancel);
  }

  /** Calls `ring` every `milliseconds` of the system's time. The returned function cancels it. */
  every(milliseconds: number, ring: () => void): () => void {
    const timer = setInterval(ring, milliseconds).unref();
    return this.#keep(() => clearInterval(timer));
  }

  /** Cancels all timers; timers that are started later never fire. */
  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#running) cancel();
    this.#running.clear();
  }

  #keep(cancel: () => void): () => void {
    this.#running.add(cancel);
    return () => {
      cancel();
      this.#running.delete(cancel);
    };
  }
}

function afterTimeout(milliseconds: number, ring: () => void): () => void {
  const timer = setTimeout(ring, milliseconds).unref();
  return () => clearTimeout(timer);
}

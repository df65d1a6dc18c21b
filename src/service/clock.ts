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

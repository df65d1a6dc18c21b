/** The times that run for calls and sockets. They keep no process alive. */
export class Alarms {
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

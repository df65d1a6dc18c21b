/** Who may have a request in flight. A slot is a place among those. */
export interface Budget {
  /** Most slots there ever are. */
  readonly most: number;
  /** Slots there are now, and how many are taken. */
  readonly limit: number;
  readonly inFlight: number;
  /** Waits for a slot; the ticket tells `throttled` to which burst the request belongs. */
  enter(): Promise<number>;
  leave(): void;
  /** A request came through. */
  succeeded(): void;
  /** A request was turned down because there are too many. */
  throttled(ticket: number): void;
}

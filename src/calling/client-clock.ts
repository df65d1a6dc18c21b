/** Time, as the SDK knows it: injected, so that tests and other platforms have their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs it once after so many milliseconds, unless what is returned is called before. */
  after(milliseconds: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

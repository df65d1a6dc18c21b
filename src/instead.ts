import type { Runtime } from './runtime.js';

/** Thrown by a command that stands for another command line: that one is run, as if it had been typed. */
export class Instead extends Error {
  readonly argv: readonly string[];
  readonly runtime: Runtime;

  constructor(argv: readonly string[], runtime: Runtime) {
    super(argv.join(' '));
    this.argv = argv;
    this.runtime = runtime;
  }
}

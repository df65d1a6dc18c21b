import type { Platform } from './protocol.js';

/** Log levels: a line is printed if its level is at most the chosen one. */
export const LogLevel = { off: -1, info: 0, debug: 2, verbose: 3 } as const;
export type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];

/** Prints lines with the tag of the platform. No line contains an API key. */
export class Logger {
  level: LogLevel = LogLevel.info;

  readonly #print: (line: string) => unknown;
  readonly #tag: string;

  constructor(print: (line: string) => unknown, platform: Platform) {
    this.#print = print;
    this.#tag = platform === 'ios' ? 'Signed Call' : 'SignedCall';
  }

  info(text: string): void {
    this.#write(LogLevel.info, text);
  }

  debug(text: string): void {
    this.#write(LogLevel.debug, text);
  }

  verbose(text: string): void {
    this.#write(LogLevel.verbose, text);
  }

  #write(level: LogLevel, text: string): void {
    if (level > this.level) return;
    try {
      Promise.resolve(this.#print(`${this.#tag}: ${text}`)).catch(() => undefined);
    } catch {
      // There is nowhere to report that the app's log fails.
    }
  }
}

export function expectLevel(level: unknown): void {
  if (!Object.values<unknown>(LogLevel).includes(level))
    throw new TypeError('The level must be one of LogLevel: off, info, debug, verbose');
}

/** How one call's voice travels. What is signalled goes through the router to the other side, as it is. */
export interface MediaOptions {
  /** The initiator makes the offer. */
  readonly role: 'initiator' | 'receiver';
  /** Any JSON value, up to 64 KiB as text. */
  readonly sendSignal: (payload: unknown) => void;
  /** Registers who hears the other side's signals. Those that came before are handed over at once. */
  readonly onSignal: (handler: (payload: unknown) => void) => void;
}

export interface MediaSession {
  /** Resolves when voice can travel; rejects when it never will: the call is hung up then. */
  readonly connected: Promise<void>;
  /** Lets go of microphone and connection. */
  close(): void;
}

export interface MediaAdapter {
  /** Called when the call is answered. */
  open(options: MediaOptions): Promise<MediaSession>;
}

/** No voice: the call is in progress when both sides have answered. */
export const noMedia: MediaAdapter = {
  open: () => Promise.resolve({ connected: Promise.resolve(), close: () => undefined }),
};

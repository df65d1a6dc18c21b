/** What the SDK needs of a WebSocket. Those of browsers, React Native, Node 22 and the package `ws` have it. */
export interface Socket {
  addEventListener(type: 'open', listener: () => void): void;
  /** Browsers do not say what is wrong. */
  addEventListener(type: 'error', listener: (event: { readonly message?: string }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code?: number }) => void): void;
  send(text: string): void;
  close(code?: number): void;
  /** Ends it without waiting for the other side. Of `ws` only. */
  terminate?(): void;
}

export type SocketClass = new (url: string, protocols: string[]) => Socket;

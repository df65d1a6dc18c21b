/** What the SDK needs of a WebSocket. Those of browsers, React Native, Node 22 and the package `ws` have it. */
export interface Socket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code?: number | undefined }) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number): void;
  /** Ends it without waiting for the other side. Of `ws` only. */
  terminate?(): void;
}

export type SocketClass = new (url: string, protocols: string[]) => Socket;

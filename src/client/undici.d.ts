// The modules of undici that a request needs. Its index loads four times as much: 80 ms per start.

declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}

declare module 'undici/lib/core/connect.js' {
  import type { Socket } from 'node:net';
  import type { buildConnector } from 'undici';
  /** `buildConnector` of undici's index; its connectors return the socket before it is connected. */
  export default function connectorOf(
    options: buildConnector.BuildOptions,
  ): (...call: Parameters<buildConnector.connector>) => Socket;
}

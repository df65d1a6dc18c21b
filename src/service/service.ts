import type { Zone } from '../contract/zones.js';
import type { Answer } from './answer.js';
import type { ServiceOptions, Variants } from './options.js';
import type { Store } from './store.js';

/** What every endpoint works with. */
export interface Service {
  readonly store: Store;
  readonly zone: Zone;
  readonly variants: Variants;
  readonly options: ServiceOptions;
  /** Key of the cursors' signatures; kept in the store, so that cursors survive a restart. */
  readonly cursorSecret: Uint8Array;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ServiceRequest {
  readonly query: URLSearchParams;
  /** The `cursor` parameter as it stands in the URL, not decoded. */
  readonly cursor: string | undefined;
  /** Well-formed JSON without blanks around it, or undefined for a request without a body. */
  readonly body: string | undefined;
}

/** Answers a request, or throws a Refusal. */
export type Endpoint = (request: ServiceRequest, service: Service) => Answer;

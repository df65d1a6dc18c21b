import type { EndpointName } from '../endpoints.js';

/** What can happen to a request besides an answer. */
export const faultActions = [
  'reset-before',
  'reset-after',
  'hang',
  'cut',
  'drip',
  'html',
  'empty',
  'expire-cursor',
  'lie-counts',
] as const;

/**
 * What is to happen to which requests (contract §10). It has an `answer` or an `action`, or neither: a delay
 * alone makes the usual answer late.
 */
export interface FaultRuleInput {
  /** Every endpoint when it is missing. */
  readonly endpoint?: EndpointName | undefined;
  /** Some text or number in the body, or a parameter of the URL, is exactly this. */
  readonly match?: string | undefined;
  /** So many requests that fit pass first. */
  readonly after?: number | undefined;
  /** How often it happens; without it until the rule is deleted. */
  readonly times?: number | undefined;
  /** Comes in place of the usual answer; nothing is processed. */
  readonly answer?:
    | {
        /** 200 when it is missing. */
        readonly status?: number | undefined;
        readonly headers?: Readonly<Record<string, string>> | undefined;
        /** Text goes out as it is, anything else as JSON; without one the service says what fits the status. */
        readonly body?: unknown;
      }
    | undefined;
  /**
   * `reset-before`: the connection is reset, nothing is processed. `reset-after`: it is, after the request was
   * processed. `hang`: no answer ever comes. `cut`: the answer breaks off in its middle. `drip`: it comes byte by
   * byte, with `delayMs` (100) before each. `html`: a page to sign in to a network, with status 200. `empty`: status
   * 200 and no body. `expire-cursor`: the answer to a cursor that is out of date. `lie-counts`: one record too many
   * is counted as processed.
   */
  readonly action?: (typeof faultActions)[number] | undefined;
  /** Milliseconds before what the rule says. */
  readonly delayMs?: number | undefined;
}

/** A rule that was checked: what may be left out has its default. */
export interface FaultRule extends FaultRuleInput {
  readonly after: number;
  readonly answer?:
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body?: unknown;
      }
    | undefined;
}

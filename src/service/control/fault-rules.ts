import type { EndpointName } from '../../contract/endpoints.js';

/** The parts of a request that rules match. */
interface MatchableRequest {
  readonly endpoint: EndpointName;
  readonly query: URLSearchParams;
  /** JSON text; undefined without a body. */
  readonly body: string | undefined;
}

/** An active rule with its counters. */
export interface ActiveRule extends FaultRule {
  readonly id: number;
  /** Number of matching requests so far. */
  readonly seen: number;
  /** Number of requests affected so far. */
  readonly played: number;
}

/** The active fault rules, ordered by id. */
export class FaultRules {
  #rules: { -readonly [Name in keyof ActiveRule]: ActiveRule[Name] }[] = [];
  #last = 0;

  add(rule: FaultRule): ActiveRule {
    const active = { ...rule, id: ++this.#last, seen: 0, played: 0 };
    this.#rules.push(active);
    return active;
  }

  list(): readonly ActiveRule[] {
    return this.#rules;
  }

  clear(): void {
    this.#rules = [];
  }

  /** Returns whether the rule existed. */
  remove(id: number): boolean {
    const before = this.#rules.length;
    this.#rules = this.#rules.filter((rule) => rule.id !== id);
    return this.#rules.length < before;
  }

  /** Counts the request for every matching rule, and returns the first rule that applies. */
  take(request: MatchableRequest): ActiveRule | undefined {
    if (this.#rules.length === 0) return undefined;
    const matching = this.#rules.filter((rule) => matches(rule, request));
    for (const rule of matching) rule.seen++;
    const due = matching.find(
      (rule) => rule.seen > rule.after && rule.played < (rule.times ?? Infinity),
    );
    if (due) due.played++;
    return due;
  }
}

function matches({ endpoint, action, match }: ActiveRule, request: MatchableRequest): boolean {
  if (endpoint !== undefined && endpoint !== request.endpoint) return false;
  const needsCursor = action === 'expire-cursor' || action === 'pending';
  if (needsCursor && !['profiles', 'events'].includes(request.endpoint)) return false;
  if (action === 'lie-counts' && !['upload', 'subscribe'].includes(request.endpoint)) return false;
  return match === undefined || containsValue(request, match);
}

/** Whether a parameter, or any scalar in the body, equals this text. */
function containsValue({ query, body }: MatchableRequest, expected: string): boolean {
  if ([...query.values()].includes(expected)) return true;
  const open: unknown[] = body === undefined ? [] : [JSON.parse(body)];
  while (open.length > 0) {
    const value = open.pop();
    if (value === null || typeof value !== 'object') {
      if (String(value) === expected) return true;
    } else for (const inner of Object.values(value)) open.push(inner);
  }
  return false;
}

/** Actions of fault rules. */
export const faultActions = [
  'reset-before',
  'reset-after',
  'hang',
  'cut',
  'drip',
  'html',
  'empty',
  'expire-cursor',
  'pending',
  'lie-counts',
] as const;

/**
 * A rule that injects a fault into matching requests (contract §10). Set `answer` or `action`, or only `delayMs`
 * to delay the usual response.
 */
export interface FaultRuleInput {
  /** Default: every endpoint. */
  readonly endpoint?: EndpointName | undefined;
  /** Value that a scalar in the body or a URL parameter must equal. */
  readonly match?: string | undefined;
  /** Number of matching requests to leave alone first; default 0. */
  readonly after?: number | undefined;
  /** Number of requests to affect; default: until the rule is deleted. */
  readonly times?: number | undefined;
  /** Response to send instead of processing the request. */
  readonly answer?:
    | {
        /** HTTP status; default 200. */
        readonly status?: number | undefined;
        readonly headers?: Readonly<Record<string, string>> | undefined;
        /** Text is sent as is, other values as JSON. Default: the usual body for the status. */
        readonly body?: unknown;
      }
    | undefined;
  /**
   * `reset-before`: resets the connection without processing the request. `reset-after`: processes the request, then
   * resets the connection. `hang`: never responds. `cut`: ends the connection in the middle of the response. `drip`:
   * sends one byte every `delayMs` (default 100). `html`: status 200 with the HTML of a captive portal. `empty`: status
   * 200 without a body. `expire-cursor`: the response to an expired cursor. `pending`: code 2, the data of the cursor
   * is not ready. `lie-counts`: reports one processed record too many.
   */
  readonly action?: (typeof faultActions)[number] | undefined;
  /** Delay before the answer, action or usual response, in milliseconds. */
  readonly delayMs?: number | undefined;
}

/** A validated rule with defaults applied. */
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

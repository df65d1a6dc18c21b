import type { EndpointName } from '../endpoints.js';

/** What rules look at. */
interface MatchableRequest {
  readonly endpoint: EndpointName;
  readonly query: URLSearchParams;
  /** JSON, or undefined without a body. */
  readonly body: string | undefined;
}

/** A rule in force. */
export interface ActiveRule extends FaultRule {
  readonly id: number;
  /** Requests that it fits, so far. */
  readonly seen: number;
  /** Those of them to which it happened. */
  readonly played: number;
}

/** The fault rules, in the order in which they were given; that of their ids. */
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

  /** Whether there was such a rule. */
  remove(id: number): boolean {
    const before = this.#rules.length;
    this.#rules = this.#rules.filter((rule) => rule.id !== id);
    return this.#rules.length < before;
  }

  /** Counts the request for every rule that it fits, and returns the first of them that is due. */
  take(request: MatchableRequest): ActiveRule | undefined {
    if (this.#rules.length === 0) return undefined;
    const fitting = this.#rules.filter((rule) => fits(rule, request));
    for (const rule of fitting) rule.seen++;
    const due = fitting.find(
      (rule) => rule.seen > rule.after && rule.played < (rule.times ?? Infinity),
    );
    if (due) due.played++;
    return due;
  }
}

function fits({ endpoint, action, match }: ActiveRule, request: MatchableRequest): boolean {
  if (endpoint !== undefined && endpoint !== request.endpoint) return false;
  if (action === 'expire-cursor' && !['profiles', 'events'].includes(request.endpoint))
    return false;
  if (action === 'lie-counts' && !['upload', 'subscribe'].includes(request.endpoint)) return false;
  return match === undefined || holds(request, match);
}

/** Whether a parameter, or a text or number anywhere in the body, is exactly this. */
function holds({ query, body }: MatchableRequest, wanted: string): boolean {
  if ([...query.values()].includes(wanted)) return true;
  const open: unknown[] = body === undefined ? [] : [JSON.parse(body)];
  while (open.length > 0) {
    const value = open.pop();
    if (value === null || typeof value !== 'object') {
      if (String(value) === wanted) return true;
    } else for (const inner of Object.values(value)) open.push(inner);
  }
  return false;
}

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

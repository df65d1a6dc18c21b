import type { EndpointName } from '../endpoints.js';
import type { FaultRule, FaultRuleInput } from './fault-rule.js';

/** What rules look at. */
export interface Faultable {
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

  /** Rejects with the Refusal 400 when the rule is wrong. */
  async add(rule: FaultRuleInput): Promise<ActiveRule> {
    // zod takes 50 ms to load, and most services never see a rule.
    const { checkedRule } = await import('./fault-rule-schema.js');
    const active = { ...checkedRule(rule), id: ++this.#last, seen: 0, played: 0 };
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
  take(request: Faultable): ActiveRule | undefined {
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

function fits({ endpoint, action, match }: ActiveRule, request: Faultable): boolean {
  if (endpoint !== undefined && endpoint !== request.endpoint) return false;
  if (action === 'expire-cursor' && !['profiles', 'events'].includes(request.endpoint))
    return false;
  if (action === 'lie-counts' && !['upload', 'subscribe'].includes(request.endpoint)) return false;
  return match === undefined || holds(request, match);
}

/** Whether a parameter, or a text or number anywhere in the body, is exactly this. */
function holds({ query, body }: Faultable, wanted: string): boolean {
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

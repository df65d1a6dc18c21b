import { refused } from '../refusal.js';
import { faultRule, type FaultRule } from './fault-rule.js';

/** Throws the Refusal 400, which says where each fault of the rule is. */
export function checkedRule(value: unknown): FaultRule {
  const { data, error } = faultRule.safeParse(value);
  if (data) return data;
  const faults = error.issues.map(
    ({ path, message }) => `${['rule', ...path].join('.')}: ${message}`,
  );
  throw refused(400, faults.join('; '));
}

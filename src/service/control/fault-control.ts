import { refused } from '../refusal.js';
import { done, type Control } from './control-route.js';
import type { FaultRuleInput } from './fault-rule.js';

/** Answers the rule with its id. */
export const addFault: Control = async ({ body }, { faults }) =>
  JSON.stringify(await faults.add(body as FaultRuleInput));

export const listFaults: Control = (_, { faults }) => JSON.stringify({ faults: faults.list() });

export const deleteFaults: Control = (_, { faults }) => {
  faults.clear();
  return done;
};

export const deleteFault: Control = ({ rest }, { faults }) => {
  if (!faults.remove(Number(rest))) throw refused(404, `there is no fault rule ${rest}`);
  return done;
};

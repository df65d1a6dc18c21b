import { checkCall } from '../../calling/check-call.js';
import { errorTable } from '../../calling/error-table.js';
import { validateCuid } from '../../calling/validate-cuid.js';
import { EngagectlError } from '../../errors.js';

/** Throws E-USAGE for a cuid that the SDK would not take. */
export function checkCuid(cuid: string, option: string): void {
  const wrong = validateCuid(cuid).filter(({ severity }) => severity === 'error');
  if (wrong.length === 0) return;
  throw new EngagectlError('E-USAGE', `${option} ${JSON.stringify(cuid)} is no cuid`, {
    why: `it ${wrong.map(({ message }) => message).join('; ')}`,
    fix: 'use 5 to 50 ASCII letters, digits and _, like ann_1',
  });
}

interface Placement {
  readonly cuid: string;
  readonly to: string;
  readonly context: string;
}

/** Throws E-USAGE for a call that the SDK would not make, whatever the router says. */
export function checkPlacement({ cuid, to, context }: Placement): void {
  checkCuid(cuid, '--cuid');
  checkCuid(to, '--to');
  const fault = checkCall({
    cuid,
    receiverCuid: to,
    callContext: context,
    callProperties: undefined,
  });
  if (fault === undefined) return;
  const { message, description } = errorTable[fault.name];
  throw new EngagectlError('E-USAGE', `the call cannot be placed: ${fault.name}`, {
    why: fault.detail ?? description,
    fix: `${message}: correct --to or --context`,
  });
}

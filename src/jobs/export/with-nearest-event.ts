import { reservedEventNames, unexportableEvents } from '../../contract/codes.js';
import { EngagectlError } from '../../errors.js';
import { didYouMean } from '../../nearest.js';

const unexportable = new Set<string>(unexportableEvents);
/** Events that the service itself makes for every account, and the one of every purchase. */
const common = ['Charged', ...reservedEventNames].filter((name) => !unexportable.has(name));

/**
 * The service's refusal of an event name (contract §13), with the nearest one that can be known here:
 * the service lists none, so that it is one of those that all accounts have.
 */
export function withNearestEvent(
  error: EngagectlError | undefined,
  asked: readonly { readonly eventName: string }[],
): EngagectlError | undefined {
  if (!error) return undefined;
  const { id, message, details } = error;
  if (id !== 'E-USAGE' || !/\binvalid event\b/i.test(message)) return error;
  const wrong = asked.find(({ eventName }) => message.includes(eventName))?.eventName ?? '';
  return new EngagectlError(id, `${message}${didYouMean(wrong, common)}`, details);
}

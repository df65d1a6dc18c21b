import { isString, membersOf, stringOf } from './raw-json.js';
import { addressOf, addressTypeOf, type Subscription } from './subscriptions.js';

const eventName = 'Channel Unsubscribed';

/**
 * The Unsubscribe call that an event stands for (specification, Transitions). The names of its
 * properties are our reading: `Channel` (phone or sms, whatsapp, email) and `Address`. It acts on
 * the address and so on everybody who has it, not on the user who did the event.
 */
export function unsubscribeCallOf(name: string, props: string): Subscription | undefined {
  if (name !== eventName) return undefined;
  const members = membersOf(props);
  const channel = members.get('Channel');
  const word = isString(channel) ? stringOf(channel)?.toLowerCase() : undefined;
  const type = addressTypeOf(word === 'sms' ? 'phone' : word);
  if (type === undefined) return undefined;
  const address = addressOf(type, stringOf(members.get('Address')));
  return address === undefined ? undefined : { type, address, blocked: true };
}

import { channels } from '../../contract/record-fields.js';

interface User {
  readonly email?: string;
  readonly phone?: string;
  readonly profileData?: Readonly<Record<string, unknown>>;
}

interface Reachability {
  /** Null: the user has no address of this channel. */
  readonly address: string | null;
  readonly addressLevel: 'Subscribed' | 'Unsubscribed';
  readonly userLevel: 'Subscribed' | 'Unsubscribed';
  readonly isReachable: boolean;
}

/** Whether the user may be reached by each channel (specification, Reachability). */
export function reachabilityOf(user: User): Record<keyof typeof channels, Reachability> {
  const { email = null, phone = null, profileData = {} } = user;
  const of = (channel: keyof typeof channels, address: string | null): Reachability => {
    const { address: blocks, user: allows } = channels[channel];
    const isBlocked = profileData[blocks[0]] === true;
    const isOptedOut = profileData[allows[0]] === false;
    return {
      address,
      addressLevel: isBlocked ? 'Unsubscribed' : 'Subscribed',
      userLevel: isOptedOut ? 'Unsubscribed' : 'Subscribed',
      isReachable: address !== null && !isBlocked && !isOptedOut,
    };
  };
  return { sms: of('sms', phone), whatsapp: of('whatsapp', phone), email: of('email', email) };
}

/** Spelling of a subscription's type and status, by lower case (specification, Subscription record). */
export const subscriptionTypes = { phone: 'phone', whatsapp: 'whatsapp', email: 'email' } as const;
export const subscriptionStatuses = {
  unsubscribe: 'Unsubscribe',
  resubscribe: 'Resubscribe',
} as const;

/**
 * Flags of the two levels per channel. Address-level: true blocks. User-level: false blocks.
 * Each flag has the two spellings of the specification (States) and of service-facts (Upload).
 */
export const channels = {
  sms: { address: ['MSG-dndPhone'], user: ['MSG-sms'] },
  whatsapp: {
    address: ['MSG-dndWhatsApp', 'MSG-dndWhatsapp'],
    user: ['MSG-whatsapp', 'MSG-Whatsapp'],
  },
  email: { address: ['MSG-dndEmail'], user: ['MSG-email'] },
} as const;

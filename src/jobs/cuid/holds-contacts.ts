const contactName = /e-?mail|phone|mobile|msisdn|whatsapp|(?:^|[^a-z])tel(?:$|[^a-z])/i;
const contactValue = /@|^(?:\+|00)[\d\s().-]{7,}$/;

/** By its name, or by its first value: a cuid is seen by the other party of a call. */
export const holdsContacts = (column: string, first: string): boolean =>
  contactName.test(column) || contactValue.test(first);

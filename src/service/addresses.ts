/** Whether the text has the shape of an email address. */
export const isEmail = (text: string): boolean =>
  text.length <= 254 && /^[^\s@"\p{Cc}]+@[^\s@.\p{Cc}]+(\.[^\s@.\p{Cc}]+)+$/u.test(text);

/** `+`, country code, digits, as profiles hold it. */
export const isPhone = (text: string): boolean => /^\+[1-9]\d{5,14}$/.test(text);

/** The number with its plus, which a subscription may lack; undefined when it is no phone number. */
export function phoneOf(text: string): string | undefined {
  const phone = text.startsWith('+') ? text : `+${text}`;
  return isPhone(phone) ? phone : undefined;
}

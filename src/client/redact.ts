const mask = '[passcode]';

/** Takes the passcode out of what the service says: it might echo what it was sent. */
export interface Redactor {
  text(text: string): string;
  /** The JSON value of `text`, redacted in its strings; undefined when it is none. */
  json(text: string): unknown;
}

export function redactor(passcode: string): Redactor {
  const redact = (text: string): string => text.replaceAll(passcode, mask);
  const redactStrings = (_key: string, value: unknown): unknown =>
    typeof value === 'string' ? redact(value) : value;
  const spellings = [passcode, JSON.stringify(passcode).slice(1, -1)];
  return {
    text: redact,
    json: (text) => {
      const holdsSecret = spellings.some((spelling) => text.includes(spelling));
      try {
        return JSON.parse(text, holdsSecret ? redactStrings : undefined) as unknown;
      } catch {
        return undefined;
      }
    },
  };
}

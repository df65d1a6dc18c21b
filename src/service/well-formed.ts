import { malformed } from './refusal.js';

/** The text without blanks around it; throws the Refusal 400 unless it is JSON. */
export function wellFormed(text: string): string {
  const trimmed = text.trim();
  try {
    JSON.parse(trimmed);
  } catch {
    throw malformed();
  }
  return trimmed;
}

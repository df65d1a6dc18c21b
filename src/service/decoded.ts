/** What a percent-encoded text stands for; `otherwise` where an escape is malformed. */
export function decoded(text: string, otherwise = text): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return otherwise;
  }
}

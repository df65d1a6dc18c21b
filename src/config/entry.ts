/** An own entry of a map whose keys come from outside: `constructor` is none. */
export function entry<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

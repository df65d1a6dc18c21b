/** Names of columns that say who somebody is, or how they are reached. */
const personal =
  /identit|object_?id|mail|phone|mobile|msisdn|whatsapp|^tel|cuid|caller|callee|address|street|^value$|^(?:FB|GP)ID$|^(?:full|first|last|sur|family|given|middle|nick|user)?[ _-]?name$/i;

/** Such names that hold no more than a yes or no. */
const flag = /^MSG-/;

/** Whether a column of this name identifies a person; `keys` do in any case. */
export const isPersonalColumn = (name: string, keys: readonly string[]): boolean =>
  keys.includes(name) || (personal.test(name) && !flag.test(name));

/**
 * What identifies a person in a record that was read, the longest first; so that messages can do
 * without. `keys`: columns that the user named as those that say who it is.
 */
export function personalValues(record: string, keys: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const take = (value: unknown, wanted: boolean): void => {
    if (Array.isArray(value)) {
      for (const one of value) take(one, wanted);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value))
        take(one, wanted || isPersonalColumn(name, keys));
    } else if (wanted && (typeof value === 'string' || typeof value === 'number')) {
      found.add(String(value));
    }
  };
  take(parsed(record), false);
  found.delete('');
  return [...found].toSorted((a, b) => b.length - a.length);
}

function parsed(record: string): unknown {
  try {
    return JSON.parse(record);
  } catch {
    return undefined;
  }
}

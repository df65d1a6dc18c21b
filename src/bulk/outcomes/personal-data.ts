/** Column names of identifiers and contact data. */
const personal =
  /identit|object_?id|mail|phone|mobile|msisdn|whatsapp|^tel|cuid|caller|callee|address|street|^value$|^(?:FB|GP)ID$|^(?:full|first|last|sur|family|given|middle|nick|user)?[ _-]?name$/i;

/** Column names that match, but contain only yes or no. */
const flag = /^MSG-/;

/** Whether a column of this name identifies a person; columns in `keys` always do. */
export const isPersonalColumn = (name: string, keys: readonly string[]): boolean =>
  keys.includes(name) || (personal.test(name) && !flag.test(name));

/**
 * Collects the values of a record that identify a person, the longest first, so that messages can
 * mask them. `keys` are the columns that the user named as the record's key.
 */
export function personalValues(record: string, keys: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const collect = (value: unknown, isPersonal: boolean): void => {
    if (Array.isArray(value)) {
      for (const one of value) collect(one, isPersonal);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value))
        collect(one, isPersonal || isPersonalColumn(name, keys));
    } else if (isPersonal && (typeof value === 'string' || typeof value === 'number')) {
      found.add(String(value));
    }
  };
  collect(parsed(record), false);
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

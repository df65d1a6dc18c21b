/**
 * Words of the service about one record, with its line in place of its number in the request, and
 * with the column they speak of and its value: people know neither the request nor its numbers.
 * `record` is JSON text of what was read.
 */
export function placedWords(error: string, line: number, record: string): string {
  const number = /\brecord number\s*:\s*\d+/i;
  const [words, own] = [error.replace(number, `record: line ${line}`), error.replace(number, '')];
  const values = valuesOf(record);
  const named =
    values.find(([name]) => speaksOf(own, name)) ??
    values.find(([name]) => name === 'value' && /\b(?:email|phone|whatsapp)\b/i.test(own));
  if (!named) return words;
  const [name, value] = named;
  const shown = shortened(JSON.stringify(value));
  if (words.includes(shown)) return words;
  return `${words} (column ${JSON.stringify(name)}: ${shown})`;
}

/** Members of the record and of the data within it that are no objects. */
function valuesOf(record: string): readonly (readonly [name: string, value: unknown])[] {
  let read: unknown;
  try {
    read = JSON.parse(record);
  } catch {
    return [];
  }
  if (typeof read !== 'object' || read === null) return [];
  const members = Object.entries(read as Readonly<Record<string, unknown>>);
  const inner = members.flatMap(([name, value]) =>
    (name === 'profileData' || name === 'evtData') && typeof value === 'object' && value !== null
      ? Object.entries(value)
      : [],
  );
  return [...inner, ...members].filter(([, value]) => typeof value !== 'object');
}

/** As a whole word. Names of the record itself are words of every sentence. */
function speaksOf(words: string, name: string): boolean {
  if (name.length < 2 || /^(?:type|status|record|profile|event|value)$/i.test(name)) return false;
  const at = words.indexOf(name);
  if (at < 0) return false;
  const around = `${words[at - 1] ?? ' '}${words[at + name.length] ?? ' '}`;
  return !/[\p{L}\p{N}_-]/u.test(around);
}

const longest = 60;
const shortened = (text: string): string =>
  text.length <= longest ? text : `${text.slice(0, longest)}…`;

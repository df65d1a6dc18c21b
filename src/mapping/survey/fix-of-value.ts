import type { Sighting } from './field.js';

/** What to do about a default field whose value the service does not take. */
export function fixOfValue(key: string, { example }: Sighting): string {
  switch (key) {
    case 'Phone':
      return phoneFix(example);
    case 'Employed':
    case 'Married':
      return 'write Y or N; not true or false';
    default:
      return 'correct them, or leave them empty';
  }
}

function phoneFix(example: string): string {
  if (/^[1-9]\d{6,14}$/.test(example)) return `write +${example}, if the country code is in there`;
  if (/^00[1-9]\d+$/.test(example)) return `write +${example.slice(2)}`;
  return 'write +, country code and digits, without spaces';
}

import { profileFields, channels } from '../../contract/record-fields.js';
import { quoteForShell } from '../../wording.js';

/** Synonyms of default fields, by normalized name. */
const synonyms: Readonly<Record<string, string>> = {
  mail: 'Email',
  emailaddress: 'Email',
  emailadresse: 'Email',
  phonenumber: 'Phone',
  mobile: 'Phone',
  mobilenumber: 'Phone',
  msisdn: 'Phone',
  cellphone: 'Phone',
  telephone: 'Phone',
  téléphone: 'Phone',
  telefon: 'Phone',
  telefonnummer: 'Phone',
  handy: 'Phone',
  handynummer: 'Phone',
  mobil: 'Phone',
  mobilnummer: 'Phone',
  mobiltelefon: 'Phone',
  teléfono: 'Phone',
  fullname: 'Name',
  sex: 'Gender',
  birthday: 'DOB',
  birthdate: 'DOB',
  dateofbirth: 'DOB',
  timezone: 'Tz',
};

const flags: readonly string[] = [
  ...Object.values(channels).flatMap(({ address, user }) => [address, user].flat()),
  'MSG-push',
];

/** Returns the letters and digits of a name in lower case. */
export const normalizeName = (key: string): string =>
  key.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

const known: ReadonlyMap<string, string> = new Map([
  ...Object.entries(synonyms),
  ...[...profileFields.keys(), ...flags.toReversed()].map(
    (key) => [normalizeName(key), key] as const,
  ),
]);

/** Returns the default field or flag that a differently spelled key probably means. */
export function suggestField(key: string): string | undefined {
  if (isReachabilityFlag(key) || profileFields.has(key)) return undefined;
  return known.get(normalizeName(key));
}

/** Returns warnings about columns that become custom properties and are probably misspelled fields. */
export function misspelledColumns(
  columns: readonly { name: string; key: string; role: string }[],
): string[] {
  const spelled = new Map<string, string[]>();
  for (const { name, key, role } of columns) {
    if (role !== 'data') continue;
    const word = key.trim().toLowerCase();
    spelled.set(word, [...(spelled.get(word) ?? []), JSON.stringify(name)]);
  }
  const similar = [...spelled.values()]
    .filter((names) => names.length > 1)
    .map(
      (names) =>
        `columns ${names.join(' and ')} differ only in case or spaces, but are sent as different properties: --drop or --map all but one`,
    );
  const misspelled = columns.flatMap(({ name, key, role }) => {
    const column = JSON.stringify(name);
    if (role === 'data' && key === 'evtName') {
      return `column ${column} is the name of an event, but profiles are sent: add --type event`;
    }
    const meant = role === 'data' ? suggestField(key) : undefined;
    if (meant === undefined || columns.some((other) => other.key === meant)) return [];
    return `column ${column} becomes a custom property; to set the service's field "${meant}", add --map ${quoteForShell(`${name}=${meant}`)}`;
  });
  return [...similar, ...misspelled];
}

/** Whether a key is a reachability flag (docs/service-api.md). */
export const isReachabilityFlag = (key: string): boolean => flags.includes(key);

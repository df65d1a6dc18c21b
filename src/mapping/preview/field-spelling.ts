import { profileFields, channels } from '../../contract/record-fields.js';
import { quoteForShell } from '../../wording.js';

/** Other words for default fields, letters only. */
const synonyms: Readonly<Record<string, string>> = {
  mail: 'Email',
  emailaddress: 'Email',
  phonenumber: 'Phone',
  mobile: 'Phone',
  mobilenumber: 'Phone',
  msisdn: 'Phone',
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

/** Its letters and digits, small. */
export const normalizeName = (key: string): string =>
  key.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

const known: ReadonlyMap<string, string> = new Map([
  ...Object.entries(synonyms),
  ...[...profileFields.keys(), ...flags.toReversed()].map(
    (key) => [normalizeName(key), key] as const,
  ),
]);

/** The default field or flag that a key of another spelling probably means. */
export function suggestField(key: string): string | undefined {
  if (isReachabilityFlag(key) || profileFields.has(key)) return undefined;
  return known.get(normalizeName(key));
}

/** What is to be said of columns that are sent as properties of their own, and were hardly meant so. */
export function misspelledColumns(
  columns: readonly { name: string; key: string; role: string }[],
): string[] {
  return columns.flatMap(({ name, key, role }) => {
    const column = JSON.stringify(name);
    if (role === 'data' && key === 'evtName') {
      return `column ${column} is the name of an event, and users are sent: --type event`;
    }
    const meant = role === 'data' ? suggestField(key) : undefined;
    if (meant === undefined || columns.some((other) => other.key === meant)) return [];
    return `column ${column} is sent as a property of its own; the service's field is "${meant}": --map ${quoteForShell(`${name}=${meant}`)}`;
  });
}

/** A flag that says whether a user may be reached (service-facts, Upload). */
export const isReachabilityFlag = (key: string): boolean => flags.includes(key);

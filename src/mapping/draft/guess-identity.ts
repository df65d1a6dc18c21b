import { letters } from '../preview/field-spelling.js';
import type { UploadMapping } from '../upload-mapping.js';
import type { SampledRows } from '../preview/column-inference.js';

/** What identity columns are called, letters only: the likeliest first. */
const names = [
  'identity',
  'customerid',
  'userid',
  'useridentity',
  'memberid',
  'contactid',
  'clientid',
  'subscriberid',
  'accountid',
  'externalid',
  'crmid',
  'id',
  'uuid',
  'guid',
  'customer',
  'user',
];
/** `Customer No.`, `Kunden-Nr.` and the like. */
const numbered = /^(?:customer|client|member|user|contact|kunden)(?:no|nr|number|nummer)$/;
/** What stands in where nothing else does. */
const addresses = ['email', 'emailaddress', 'mail', 'phone', 'phonenumber', 'mobile', 'msisdn'];

const placeOf = (name: string): number => {
  const word = letters(name);
  const isNumbered = word.endsWith('id') || numbered.test(word);
  const places = [names.indexOf(word), isNumbered ? 0 : -1, addresses.indexOf(word)];
  const kind = places.findIndex((place) => place >= 0);
  return kind < 0 ? Number.POSITIVE_INFINITY : 1000 * kind + places[kind]!;
};

/** By its name alone; undefined where no name tells. */
export const likeliestIdentity = (header: readonly string[]): string | undefined =>
  header
    .filter((name) => Number.isFinite(placeOf(name)))
    .toSorted((a, b) => placeOf(a) - placeOf(b))[0];

/**
 * The column that was named; else the likeliest by name of those that nearly every row has and,
 * of profiles, that hardly two rows share. Without any row the name alone tells.
 */
export function guessIdentity(
  { columns, rows }: SampledRows,
  { identity, identityGiven, objectId, drop, kind, map }: UploadMapping,
): string | undefined {
  if (identityGiven) return identity;
  const candidates = columns.filter(({ name, filled, isDistinct, isText }) => {
    const isTold = name === objectId || drop.has(name) || map.has(name);
    const isFit = isText && filled >= 0.9 * rows && (kind === 'event' || isDistinct);
    return !isTold && (name === 'identity' || (isFit && Number.isFinite(placeOf(name))));
  });
  return candidates.toSorted((a, b) => placeOf(a.name) - placeOf(b.name))[0]?.name;
}

import { divergingOperators } from '../contract/codes.js';

/**
 * The names that members of JSON records are looked for by, each known by its place in here. The operators are
 * the first, which `wasm/json/value.ts` relies on.
 */
export const memberNames = [
  ...divergingOperators,
  'identity',
  'objectId',
  'FBID',
  'GPID',
  'type',
  'ts',
  'profileData',
  'evtName',
  'evtData',
  'value',
  'status',
  'source',
  'line',
  'stage',
  'record',
  'recordBase64',
  'profile',
  'event_name',
  'event_props',
  'events',
  'platformInfo',
  'all_identities',
  'email',
  'name',
  'phone',
  'Email',
  'Name',
  'Phone',
] as const;

/** What `JsonText.find` wants to be given for a name. */
export const named = Object.fromEntries(
  memberNames.map((name, number) => [name, number]),
) as Readonly<Record<(typeof memberNames)[number], number>>;

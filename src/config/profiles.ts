import { EngagectlError } from '../errors.js';
import { currentProfile, entry, findProfile, findRegion, localRegion } from './saved-account.js';
import { namePattern, type Config, type SavedProfile, type SavedRegion } from './schema.js';

/** A region of a profile, as it is to be saved; what is undefined stays as it was. */
export interface RegionChange {
  readonly profile: string;
  readonly region: string;
  readonly values: { readonly [K in keyof SavedRegion]?: SavedRegion[K] | undefined };
}

/** A region as it is saved; undefined when it is not. */
export function savedRegion(
  { profiles }: Config,
  profile: string,
  region: string,
): SavedRegion | undefined {
  const found = entry(profiles, profile);
  return found && entry(found.regions, region);
}

/**
 * Adds or changes one region; a passcode takes the place of a passcode command, and the other way
 * round. E-CONFIG when a new one lacks a part.
 */
export function withRegion(config: Config, { profile, region, values }: RegionChange): Config {
  checkName('region', region);
  checkName('profile', profile);
  const known = entry(config.profiles, profile);
  const given = defined(values);
  const kept: Partial<SavedRegion> = { ...savedRegion(config, profile, region) };
  if ('passcode' in given) delete kept.passcode_command;
  if ('passcode_command' in given) delete kept.passcode;
  const merged: Partial<SavedRegion> = { ...kept, ...given };
  const { baseUrl, accountId } = merged;
  const secret = merged.passcode ?? merged.passcode_command;
  if (baseUrl === undefined || accountId === undefined || secret === undefined) {
    const parts = { '--base-url': baseUrl, '--account-id': accountId, passcode: secret };
    const missing = Object.entries(parts).filter(([, value]) => value === undefined);
    throw new EngagectlError('E-CONFIG', `region "${region}" is new and not complete`, {
      why: `missing: ${missing.map(([name]) => name).join(', ')}`,
      fix: 'engagectl config set --region <name> --base-url <url> --account-id <id>',
    });
  }
  refuseHalfOfCalls(region, given, merged);
  const regions = { ...known?.regions, [region]: { ...merged, baseUrl, accountId } };
  return withProfile(config, profile, { ...known, regions });
}

/** A new calling account never goes with the old key. */
function refuseHalfOfCalls(
  region: string,
  given: Partial<SavedRegion>,
  { callAccountId, callApiKey }: Partial<SavedRegion>,
): void {
  const isKeyOfAnother = given.callAccountId !== undefined && given.callApiKey === undefined;
  if (!isKeyOfAnother && (callAccountId === undefined) === (callApiKey === undefined)) return;
  const missing = isKeyOfAnother ? '--call-api-key-file' : '--call-account-id';
  throw new EngagectlError('E-CONFIG', `region "${region}": ${missing} is missing`, {
    why: 'calling account id and call API key are one unit',
    fix: 'engagectl config set --region <name> --call-account-id <id> --call-api-key-file <file>',
  });
}

/** Marks a profile whose writes ask first, or takes the mark away. */
export const withProduction = (config: Config, name: string, production: boolean): Config =>
  withProfile(config, name, { ...findProfile(config, name), production });

/** Chooses the profile, and its region if one is named, for commands that name none. */
export function withCurrent(config: Config, name: string, region: string | undefined): Config {
  const profile = findProfile(config, name);
  const chosen = { ...config, current: name };
  if (region === undefined) return chosen;
  if (region !== localRegion) findRegion(name, profile, region);
  return withProfile(chosen, name, { ...profile, region });
}

/** Forgets a region of a profile, or with the last one the whole profile; also that it was the chosen one. */
export function without(config: Config, name: string, region: string | undefined): Config {
  const profile = findProfile(config, name);
  if (region !== undefined) {
    findRegion(name, profile, region);
    const regions = withoutKey(profile.regions, region);
    const chosen = profile.region === region ? undefined : profile.region;
    if (Object.keys(regions).length > 0)
      return withProfile(config, name, { ...profile, region: chosen, regions });
  }
  const current = config.current === name ? undefined : config.current;
  return { ...config, current, profiles: withoutKey(config.profiles, name) };
}

const withProfile = (config: Config, name: string, profile: SavedProfile): Config => ({
  ...config,
  profiles: { ...config.profiles, [name]: profile },
});

/** What `config list` prints: everything saved but passcodes and the commands that know them. */
export function listed(config: Config) {
  return Object.entries(config.profiles).flatMap(
    ([profile, { region: chosen, production, regions }]) =>
      Object.entries(regions).map(([region, { baseUrl, accountId, ...others }]) => ({
        profile,
        region,
        current:
          profile === currentProfile(config) &&
          (chosen === region || (chosen === undefined && Object.keys(regions).length === 1)),
        baseUrl,
        accountId,
        passcode: maskedPasscode,
        production: production === true,
        headerPrefix: others.headerPrefix,
        timezone: others.timezone,
        callAccountId: others.callAccountId,
        callApiKey: others.callApiKey && maskedPasscode,
      })),
  );
}

/** The same for every passcode: its length is nobody's business either. */
export const maskedPasscode = '********';

function checkName(what: 'profile' | 'region', name: string): void {
  if (what === 'region' && name === localRegion)
    throw new EngagectlError('E-REGION', 'region "local" is built in and needs no account', {
      why: 'it is the service on this machine that is part of the tool',
      fix: 'use it with --region local, or choose another name',
    });
  if (namePattern.test(name)) return;
  throw new EngagectlError('E-CONFIG', `"${name}" cannot be the name of a ${what}`, {
    why: 'a name is 1 to 64 of A-Z a-z 0-9 _ and -',
    fix: 'choose another name',
  });
}

const defined = (values: RegionChange['values']): Partial<SavedRegion> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const withoutKey = <T>(map: Readonly<Record<string, T>>, key: string) =>
  Object.fromEntries(Object.entries(map).filter(([name]) => name !== key));

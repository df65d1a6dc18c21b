import { EngagectlError } from '../errors.js';
import { currentProfile, entry, findProfile, findRegion, localRegion } from './saved-account.js';
import { namePattern, type Config, type SavedRegion } from './schema.js';

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
  if (baseUrl === undefined || accountId === undefined || secret === undefined)
    throw new EngagectlError('E-CONFIG', `region "${region}" is new and not complete`, {
      why: `missing: ${missing({ '--base-url': baseUrl, '--account-id': accountId, passcode: secret })}`,
      fix: 'engagectl config set --region <name> --base-url <url> --account-id <id>',
    });
  const saved: SavedRegion = { ...merged, baseUrl, accountId };
  const regions = { ...known?.regions, [region]: saved };
  return { ...config, profiles: { ...config.profiles, [profile]: { ...known, regions } } };
}

/** Marks a profile whose writes ask first, or takes the mark away. */
export function withProduction(config: Config, name: string, production: boolean): Config {
  const profile = findProfile(config, name);
  return { ...config, profiles: { ...config.profiles, [name]: { ...profile, production } } };
}

/** Chooses the profile, and its region if one is named, for commands that name none. */
export function withCurrent(config: Config, name: string, region: string | undefined): Config {
  const profile = findProfile(config, name);
  if (region === undefined) return { ...config, current: name };
  if (region !== localRegion) findRegion(name, profile, region);
  const profiles = { ...config.profiles, [name]: { ...profile, region } };
  return { ...config, current: name, profiles };
}

/** Forgets a region of a profile, or the whole profile; also that it was the chosen one. */
export function without(config: Config, name: string, region: string | undefined): Config {
  const profile = findProfile(config, name);
  if (region !== undefined) findRegion(name, profile, region);
  const regions = withoutKey(profile.regions, region);
  if (region !== undefined && Object.keys(regions).length > 0) {
    const { region: chosen, ...rest } = profile;
    const kept = chosen === undefined || chosen === region ? rest : { ...rest, region: chosen };
    return { ...config, profiles: { ...config.profiles, [name]: { ...kept, regions } } };
  }
  const { current, ...rest } = config;
  const kept = current === undefined || current === name ? rest : { ...rest, current };
  return { ...kept, profiles: withoutKey(config.profiles, name) };
}

/** What `config list` prints: everything saved but passcodes and the commands that know them. */
export function listed(config: Config) {
  return Object.entries(config.profiles).flatMap(
    ([profile, { region: chosen, production, regions }]) =>
      Object.entries(regions).map(([region, { baseUrl, accountId, headerPrefix, timezone }]) => ({
        profile,
        region,
        current:
          profile === currentProfile(config) &&
          (chosen === region || (chosen === undefined && Object.keys(regions).length === 1)),
        baseUrl,
        accountId,
        passcode: maskedPasscode,
        production: production === true,
        headerPrefix,
        timezone,
      })),
  );
}

/** The same for every passcode: its length is nobody's business either. */
export const maskedPasscode = '********';

function checkName(what: 'profile' | 'region', name: string): void {
  if (what === 'region' && name === localRegion)
    throw new EngagectlError('E-REGION', 'region "local" is built in and needs no account', {
      fix: 'use it with --region local, or choose another name',
    });
  if (namePattern.test(name)) return;
  throw new EngagectlError('E-CONFIG', `"${name}" cannot be the name of a ${what}`, {
    why: 'a name is 1 to 64 of A-Z a-z 0-9 _ and -',
    fix: 'choose another name',
  });
}

const missing = (parts: Readonly<Record<string, string | undefined>>): string =>
  Object.keys(parts)
    .filter((name) => parts[name] === undefined)
    .join(', ');

const defined = (values: RegionChange['values']): Partial<SavedRegion> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const withoutKey = <T>(map: Readonly<Record<string, T>>, key: string | undefined) =>
  Object.fromEntries(Object.entries(map).filter(([name]) => name !== key));

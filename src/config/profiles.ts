import { EngagectlError } from '../errors.js';
import { didYouMean } from '../did-you-mean.js';
import { quoteForShell } from '../wording.js';
import { readConfig } from './config-file.js';
import { nameCharacters, namePattern, redactBaseUrl } from './validation.js';
import type { Config, SavedProfile, SavedRegion } from './schema.js';
import type { DirectoryRuntime } from './directories.js';

/** The built-in region: the embedded service, started inside the command. */
export const localRegion = 'local';

/** A region of a config profile, found by name or because it is the only one. */
export interface SavedAccount {
  readonly profile: string;
  readonly region: string;
  /** Name of the profile, for people. */
  readonly source: string;
  /** Undefined if `config use` selected the built-in region. */
  readonly values: SavedRegion | undefined;
  /** Undefined if the profile does not set it. */
  readonly production: boolean | undefined;
}

/** The profile used if none is named. */
export const currentProfile = ({ current }: Config): string => current ?? defaultProfile;
const defaultProfile = 'default';

/** Finds a saved account; an unknown name is an error that lists the known ones. */
export async function findSavedAccount(
  choice: { readonly profile?: string; readonly region?: string },
  runtime: DirectoryRuntime,
): Promise<SavedAccount> {
  const config = await readConfig(runtime);
  const isEmpty = Object.keys(config.profiles).length === 0;
  if (isEmpty && choice.region && !choice.profile)
    throw new EngagectlError('E-REGION', `there is no region "${choice.region}"`, {
      why: `known: ${localRegion}, the built-in one; there is no config profile yet that could name others`,
      fix: `engagectl config set --region ${quoteForShell(choice.region)} --base-url <url> --account-id <id>; or try it without an account: --region ${localRegion}`,
    });
  const name = choice.profile ?? currentProfile(config);
  const profile = findProfile(config, name);
  const region = choice.region ?? profile.region ?? onlyRegion(name, profile);
  const source = `config profile "${name}"`;
  const values = region === localRegion ? undefined : findRegion(name, profile, region);
  return { profile: name, region, source, production: profile.production, values };
}

/** Throws E-CONFIG for an unknown profile. */
function findProfile(config: Config, name: string): SavedProfile {
  const profile = ownEntry(config.profiles, name);
  if (profile) return profile;
  const known = Object.keys(config.profiles);
  const missing = `there is no config profile "${name}"`;
  if (known.length === 0)
    throw new EngagectlError(
      'E-CONFIG',
      name === defaultProfile ? 'no account is set up' : missing,
      {
        why:
          name === defaultProfile
            ? 'there is no config profile, and base URL, account id and passcode are not all in the environment'
            : 'there is none yet',
        fix: 'engagectl config set --region <name> --base-url <url> --account-id <id>; or try it without an account: --region local',
      },
    );
  throw new EngagectlError('E-CONFIG', `${missing}${didYouMean(name, known)}`, {
    why: `known: ${known.join(', ')}`,
    fix: `name one of them, or make it: engagectl config set --profile ${quoteForShell(name)} --region <name> --base-url <url> --account-id <id>`,
  });
}

/** Throws E-REGION for an unknown region. */
function findRegion(name: string, profile: SavedProfile, region: string): SavedRegion {
  const values = ownEntry(profile.regions, region);
  if (values) return values;
  const known = [...Object.keys(profile.regions), localRegion];
  const missing = `config profile "${name}" has no region "${region}"`;
  throw new EngagectlError('E-REGION', `${missing}${didYouMean(region, known)}`, {
    why: `known: ${known.join(', ')}`,
    fix: 'choose one with --region <name>, or see engagectl config list',
  });
}

function onlyRegion(name: string, profile: SavedProfile): string {
  const known = Object.keys(profile.regions);
  const [first] = known;
  if (first !== undefined && known.length === 1) return first;
  const regions = first === undefined ? 'no region' : `several regions: ${known.join(', ')}`;
  throw new EngagectlError('E-REGION', `config profile "${name}" has ${regions}`, {
    why: 'account and passcode belong to one region',
    fix: `--region <name>; or choose one for good: engagectl config use ${quoteForShell(name)} --region ${first === undefined ? '<name>' : quoteForShell(first)}`,
  });
}

/** Returns an own entry of a map whose keys come from outside, such as `constructor`. */
export function ownEntry<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** A region to save; undefined members stay unchanged. */
interface RegionChange {
  readonly profile: string;
  readonly region: string;
  readonly values: { readonly [K in keyof SavedRegion]?: SavedRegion[K] | undefined };
}

/** Returns a saved region, or undefined. */
export function savedRegion(
  { profiles }: Config,
  profile: string,
  region: string,
): SavedRegion | undefined {
  const found = ownEntry(profiles, profile);
  return found && ownEntry(found.regions, region);
}

/**
 * Adds or changes a region; a passcode replaces a passcode command and vice versa. Throws E-CONFIG if a
 * new region is incomplete.
 */
export function withRegion(config: Config, { profile, region, values }: RegionChange): Config {
  checkName('region', region);
  checkName('profile', profile);
  const known = ownEntry(config.profiles, profile);
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

/** A new calling account never keeps the old key. */
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

/** Sets or clears the production mark of a profile, whose writes ask for confirmation. */
export const withProduction = (config: Config, name: string, production: boolean): Config =>
  withProfile(config, name, { ...findProfile(config, name), production });

/** Selects the profile, and its region if given, for commands that name none. */
export function withCurrent(config: Config, name: string, region: string | undefined): Config {
  const profile = findProfile(config, name);
  const chosen = { ...config, current: name };
  if (region === undefined) return chosen;
  if (region !== localRegion) findRegion(name, profile, region);
  return withProfile(chosen, name, { ...profile, region });
}

/** Removes a region, the profile with its last region, and their selection. */
export function removeSaved(config: Config, name: string, region: string | undefined): Config {
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

/** Returns what may be shown of a saved base URL, which may have been written by hand. */
export const shownBaseUrl = (baseUrl: string): string => redactBaseUrl(baseUrl) ?? maskedPasscode;

/** Returns what `config list` prints: everything except passcodes, passcode commands and secrets in URLs. */
export function listSaved(config: Config) {
  return Object.entries(config.profiles).flatMap(
    ([profile, { region: chosen, production, regions }]) =>
      Object.entries(regions).map(([region, { baseUrl, accountId, ...others }]) => ({
        profile,
        region,
        current:
          profile === currentProfile(config) &&
          (chosen === region || (chosen === undefined && Object.keys(regions).length === 1)),
        baseUrl: shownBaseUrl(baseUrl),
        accountId,
        passcode: maskedPasscode,
        production: production === true,
        headerPrefix: others.headerPrefix,
        timezone: others.timezone,
        remember: others.remember,
        callAccountId: others.callAccountId,
        callApiKey: others.callApiKey && maskedPasscode,
      })),
  );
}

/** Independent of the passcode, whose length is secret, too. */
export const maskedPasscode = '********';

function checkName(what: 'profile' | 'region', name: string): void {
  if (what === 'region' && name === localRegion)
    throw new EngagectlError('E-REGION', 'region "local" is built in and needs no account', {
      why: 'it is the service on this machine that is part of the tool',
      fix: 'use it with --region local, or choose another name',
    });
  if (namePattern.test(name)) return;
  throw new EngagectlError('E-CONFIG', `"${name}" cannot be the name of a ${what}`, {
    why: `a name is ${nameCharacters}`,
    fix: 'choose another name',
  });
}

const defined = (values: RegionChange['values']): Partial<SavedRegion> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const withoutKey = <T>(map: Readonly<Record<string, T>>, key: string) =>
  Object.fromEntries(Object.entries(map).filter(([name]) => name !== key));

import { EngagectlError } from '../errors.js';
import { didYouMean } from '../did-you-mean.js';
import { shellWord } from '../shell-word.js';
import { readConfig } from './config-file.js';
import type { Surroundings } from './directories.js';
import type { Config, SavedProfile, SavedRegion } from './schema.js';

/** The built-in region: the embedded service, started inside the command. */
export const localRegion = 'local';

/** One region of a config profile, found by name or by being the only one. */
export interface Saved {
  readonly profile: string;
  readonly region: string;
  /** For people: which profile. */
  readonly source: string;
  /** Undefined: `config use` chose the built-in region. */
  readonly values: SavedRegion | undefined;
  /** As the profile says; undefined when it does not. */
  readonly production: boolean | undefined;
}

/** The profile that is meant when none is named. */
export const currentProfile = ({ current }: Config): string => current ?? defaultProfile;
const defaultProfile = 'default';

/** Looks the account up; an unknown name is an error that lists the known ones. */
export async function chooseSaved(
  wanted: { readonly profile?: string; readonly region?: string },
  runtime: Surroundings,
): Promise<Saved> {
  const config = await readConfig(runtime);
  const isEmpty = Object.keys(config.profiles).length === 0;
  if (isEmpty && wanted.region && !wanted.profile)
    throw new EngagectlError('E-REGION', `there is no region "${wanted.region}"`, {
      why: `known: ${localRegion}, the built-in one; there is no config profile yet that could name others`,
      fix: `engagectl config set --region ${wanted.region} --base-url <url> --account-id <id>; or try it without an account: --region ${localRegion}`,
    });
  const name = wanted.profile ?? currentProfile(config);
  const profile = findProfile(config, name);
  const region = wanted.region ?? profile.region ?? onlyRegion(name, profile);
  const source = `config profile "${name}"`;
  const values = region === localRegion ? undefined : findRegion(name, profile, region);
  return { profile: name, region, source, production: profile.production, values };
}

/** E-CONFIG for a profile that is not there. */
export function findProfile(config: Config, name: string): SavedProfile {
  const profile = entry(config.profiles, name);
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
            ? 'there is no config profile, and the environment does not hold base URL, account id and passcode'
            : 'there is none yet',
        fix: 'engagectl config set --region <name> --base-url <url> --account-id <id>; or try it without an account: --region local',
      },
    );
  throw new EngagectlError('E-CONFIG', `${missing}${didYouMean(name, known)}`, {
    why: `known: ${known.join(', ')}`,
    fix: `name one of them, or make it: engagectl config set --profile ${shellWord(name)} --region <name> --base-url <url> --account-id <id>`,
  });
}

/** E-REGION for a region that is not there. */
export function findRegion(name: string, profile: SavedProfile, region: string): SavedRegion {
  const values = entry(profile.regions, region);
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
    fix: `--region <name>; or choose one for good: engagectl config use ${name} --region ${first ?? '<name>'}`,
  });
}

/** An own entry of a map whose keys come from outside: `constructor` is none. */
export function entry<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

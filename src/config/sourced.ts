/** The slice of the global options that chooses an account: each a flag, or a variable. */
export interface AccountSettings {
  readonly profile?: string;
  readonly region?: string;
  readonly baseUrl?: string;
  readonly headerPrefix?: string;
  readonly timezone?: string;
  /** Of the calling system, in place of the base URL: `--call-url`. */
  readonly callUrl?: string | undefined;
  /** Which of them were given as flags. */
  readonly flags: ReadonlySet<string>;
}

/** A value and, for people, where it came from. */
export interface Sourced {
  readonly value: string;
  readonly source: string;
}

const names = {
  region: { flag: '--region', variable: 'ENGAGECTL_REGION' },
  baseUrl: { flag: '--base-url', variable: 'ENGAGECTL_BASE_URL' },
  headerPrefix: { flag: '--header-prefix', variable: 'ENGAGECTL_HEADER_PREFIX' },
  timezone: { flag: '--timezone', variable: 'ENGAGECTL_TIMEZONE' },
} as const;

/** A setting of the flag, else of the variable; undefined when neither is given. */
export function setting(settings: AccountSettings, name: keyof typeof names): Sourced | undefined {
  const value = settings[name];
  if (value === undefined) return undefined;
  const { flag, variable } = names[name];
  return { value, source: settings.flags.has(name) ? flag : variable };
}

import { z } from 'zod';
import { namePattern } from './validation.js';

const name = z.string().regex(namePattern);

/** Reports a problem even if the object has others, so that all are reported together. */
const always = (error: string) => ({
  error,
  when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null,
});

/** Address and credentials of a region; the passcode is never printed. */
const savedRegion = z
  .strictObject({
    baseUrl: z.string(),
    accountId: z.string(),
    passcode: z.string().optional(),
    /** Shell command whose first line of output is the passcode; replaces the passcode. */
    passcode_command: z.string().optional(),
    /** Account of the calling system. */
    callAccountId: z.string().optional(),
    callApiKey: z.string().optional(),
    headerPrefix: z.string().optional(),
    timezone: z.string().optional(),
    /** Time for which sent events are remembered, like `90d`. */
    remember: z.string().optional(),
  })
  .refine(
    ({ passcode, passcode_command: command }) =>
      (passcode === undefined) !== (command === undefined),
    always('needs a passcode or a passcode_command, and not both'),
  )
  .refine(
    ({ callAccountId, callApiKey }) => (callAccountId === undefined) === (callApiKey === undefined),
    always('needs callAccountId and callApiKey, or neither'),
  );

const savedProfile = z.strictObject({
  /** Default region, set by `config use <profile> --region <name>`. */
  region: name.optional(),
  /** Whether writes ask for confirmation on a terminal. */
  production: z.boolean().optional(),
  regions: z.record(name, savedRegion),
});

/**
 * The content of `config.json`. Strict, because an ignored misspelled key would be a setting without
 * effect.
 */
export const configSchema = z.strictObject({
  /** Default profile, set by `config use <profile>`. */
  current: name.optional(),
  profiles: z.record(name, savedProfile),
});

/** Members of the file, of profiles and of regions. */
export const configMembers = [configSchema, savedProfile, savedRegion].flatMap(({ shape }) =>
  Object.keys(shape),
);

export type Config = z.infer<typeof configSchema>;
export type SavedProfile = z.infer<typeof savedProfile>;
export type SavedRegion = z.infer<typeof savedRegion>;

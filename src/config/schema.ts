import { z } from 'zod';
import { namePattern } from './validation.js';

const name = z.string().regex(namePattern);

/** Said also of an object of which more is wrong, so that all of it is said at once. */
const always = (error: string) => ({
  error,
  when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null,
});

/** Address and credentials of one region: the passcode is never printed. */
const savedRegion = z
  .strictObject({
    baseUrl: z.string(),
    accountId: z.string(),
    passcode: z.string().optional(),
    /** A shell command whose first line of output is the passcode; in place of the passcode. */
    passcode_command: z.string().optional(),
    /** Of the calling system, which has an account of its own. */
    callAccountId: z.string().optional(),
    callApiKey: z.string().optional(),
    headerPrefix: z.string().optional(),
    timezone: z.string().optional(),
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
  /** The region used when none is named: set by `config use <profile> --region <name>`. */
  region: name.optional(),
  /** Writes ask first, where somebody sits at a terminal. */
  production: z.boolean().optional(),
  regions: z.record(name, savedRegion),
});

/**
 * The whole of `config.json`. Strict, because a misspelt key that is ignored would be a setting
 * that silently does nothing.
 */
export const configSchema = z.strictObject({
  /** The profile used when none is named: set by `config use <profile>`. */
  current: name.optional(),
  profiles: z.record(name, savedProfile),
});

/** Of the file, of a profile, of a region. */
export const configMembers = [configSchema, savedProfile, savedRegion].flatMap(({ shape }) =>
  Object.keys(shape),
);

export type Config = z.infer<typeof configSchema>;
export type SavedProfile = z.infer<typeof savedProfile>;
export type SavedRegion = z.infer<typeof savedRegion>;

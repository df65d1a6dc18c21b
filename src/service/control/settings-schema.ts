import { validateHeaderName } from 'node:http';
import { z } from 'zod';
import { timeZone } from '../../time-zone.js';
import { requestError } from '../response.js';
import { variantValues, type Variants, type SettingsChanges } from '../settings.js';

const limit = z.int().min(1).max(1_000_000);

const variants = z.strictObject(
  Object.fromEntries(
    Object.entries(variantValues).map(([name, values]) => [name, z.enum(values).optional()]),
  ) as unknown as { [Name in keyof Variants]: z.ZodOptional<z.ZodEnum> },
);

const settings = {
  latencyMs: z.int().min(0).max(600_000).optional(),
  pendingPolls: z.int().min(0).optional(),
  failRate: z.number().min(0).max(1).optional(),
  failSeed: z.int().min(0).optional(),
  strict: z.boolean().optional(),
  variants: variants.optional(),
};

const settingsChanges = z.strictObject({
  ...settings,
  maxConcurrent: z.strictObject({ upload: limit.optional(), other: limit.optional() }).optional(),
});

/** Validates a change of settings; throws RequestError 400 with the path and cause of each error. */
export function parseSettings(value: unknown): SettingsChanges {
  const { data, error } = settingsChanges.safeParse(value);
  if (data) return data as SettingsChanges;
  throw requestError(400, issueTexts(error, 'settings').join('; '));
}

const testOptions = z.strictObject({
  ...settings,
  maxConcurrent: z.strictObject({ upload: limit, other: limit }).optional(),
  seed: z
    .array(z.union([z.string(), z.record(z.string(), z.unknown())]), {
      error: 'must be an array of records and paths of files',
    })
    .optional(),
  memory: z.boolean().optional(),
  port: z.int().min(0).max(65_535).optional(),
  headerPrefix: z
    .union([headerName(), z.array(headerName()).min(1)], {
      error: 'must be the prefix of a header name, or an array of prefixes',
    })
    .optional(),
  accountId: z.string().min(1).optional(),
  passcode: z.string().min(1).optional(),
  tls: z.boolean().optional(),
  timezone: z.string().refine(isTimeZone, 'must be an IANA time zone').optional(),
  lagSeconds: z.number().min(0).max(86_400).optional(),
  calls: z.looseObject({ accountId: z.string(), apiKey: z.string() }).optional(),
  onRequest: z.custom((value) => typeof value === 'function', 'must be a function').optional(),
});

/** Validates the options of `startService`; throws TypeError that names each wrong option. */
export function checkTestOptions(options: unknown): void {
  const { error } = testOptions.safeParse(options);
  if (error) throw new TypeError(`startService: ${issueTexts(error, 'options').join('; ')}`);
}

/** Formats each issue as `path: cause`; the path of an unknown member names the member. */
function issueTexts({ issues }: z.ZodError, root: string): string[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(
        (key) => `${[...issue.path, key].join('.')}: unknown member of ${root}`,
      );
    return `${issue.path.join('.') || root}: ${issue.message}`;
  });
}

function headerName(): z.ZodType<string> {
  return z.string().refine((text) => {
    try {
      validateHeaderName(text);
      return true;
    } catch {
      return false;
    }
  }, 'is not a header name');
}

function isTimeZone(name: string): boolean {
  try {
    timeZone(name);
    return true;
  } catch {
    return false;
  }
}

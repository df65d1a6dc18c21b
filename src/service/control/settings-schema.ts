import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from 'zod';
import { timeZone } from '../../time-zone.js';
import { isCuid } from '../../calling/cuid.js';
import { errorTable } from '../../calling/errors.js';
import { CallEvent, callTimers, declineCodes } from '../../calling/protocol.js';
import { limits } from '../../contract/limits.js';
import { callLimits, type IceServerOptions } from '../calls/call-options.js';
import { endpointNames } from '../../contract/endpoints.js';
import { faultActions, type FaultRule, type FaultRuleInput } from './fault-rules.js';
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

const iceUrl = z.string().regex(/^(stuns?|turns?):\S+$/, 'is not a stun:, turn: or turns: URL');

const iceServers = z.array(
  z
    .strictObject({
      urls: z.union([iceUrl, z.array(iceUrl).min(1)], {
        error: 'must be a stun:, turn: or turns: URL, or an array of them',
      }),
      username: z.string().min(1).optional(),
      credential: z.string().min(1).optional(),
      secret: z.string().min(1).optional(),
      ttlSeconds: z
        .int()
        .min(60)
        .max(30 * 86_400)
        .optional(),
    })
    .refine(
      ({ secret, username, credential }) => !(secret && (username || credential)),
      '"secret" replaces "username" and "credential"',
    ),
  { error: 'must be an array' },
);

const testOptions = z.strictObject({
  ...settings,
  maxConcurrent: z.strictObject({ upload: limit, other: limit }).optional(),
  seed: z
    .array(
      z.union([z.string(), z.record(z.string(), z.unknown())], {
        error: 'must be a record or the path of a file',
      }),
      { error: 'must be an array of records and paths of files' },
    )
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
  timezone: z.string().refine(isValid(timeZone), 'must be an IANA time zone').optional(),
  lagSeconds: z.number().min(0).max(86_400).optional(),
  calls: callingOptions().optional(),
  onRequest: z.custom((value) => typeof value === 'function', 'must be a function').optional(),
});

/** Validates the options of `startService`; throws TypeError that names each wrong option. */
export function checkTestOptions(options: unknown): void {
  const { error } = testOptions.safeParse(options);
  if (error) throw new TypeError(`startService: ${issueTexts(error, 'options').join('; ')}`);
}

function overridesOf(names: readonly string[], value: z.ZodType) {
  return z.strictObject(Object.fromEntries(names.map((name) => [name, value.optional()])));
}

function callingOptions() {
  const milliseconds = z.number().min(0);
  return z.strictObject({
    accountId: z.string().min(1),
    apiKey: z.string().min(1),
    timers: overridesOf(Object.keys(callTimers), milliseconds).optional(),
    limits: overridesOf(Object.keys(callLimits), z.int().min(1)).optional(),
    dropRate: z.number().min(0).max(1).optional(),
    isOff: z.boolean().optional(),
    iceServers: iceServers.optional(),
    tokenKey: z.string().refine(isTokenKey, 'must have at least 32 bytes').optional(),
    onPush: z.custom((value) => typeof value === 'function', 'must be a function').optional(),
  });
}

/** Validates the value of a file of ICE servers; throws an Error that names each wrong member. */
export function parseIceServers(value: unknown): IceServerOptions[] {
  const { data, error } = iceServers.safeParse(value);
  if (data) return data;
  throw new Error(issueTexts(error, 'ICE servers').join('; '));
}

function isTokenKey(value: string): boolean {
  return Buffer.byteLength(value) >= limits.callTokenKeyBytes;
}

const cuid = z.string().refine(isCuid, 'must be a cuid');
const seconds = z.number().min(0).max(86_400);
const names = <Name extends string>(table: Readonly<Record<Name, unknown>>) =>
  z.enum(Object.keys(table) as Name[]);

const steering = {
  script: z
    .strictObject({
      to: cuid,
      from: cuid.optional(),
      does: z.enum(['answer', 'decline', 'ignore', 'fail']),
      afterSeconds: seconds.optional(),
      hangupAfterSeconds: seconds.optional(),
      reason: names(declineCodes).optional(),
      error: names(errorTable).optional(),
      times: z.int().min(1).optional(),
    })
    .check(({ value, issues }) => {
      const members = [
        ['afterSeconds', ['answer', 'decline']],
        ['hangupAfterSeconds', ['answer']],
        ['reason', ['decline']],
        ['error', ['fail']],
      ] as const;
      for (const [name, does] of members) {
        if (value[name] === undefined || does.some((one) => one === value.does)) continue;
        const message = `has no effect with does: "${value.does}"`;
        issues.push({ code: 'custom', path: [name], message, input: value[name] });
      }
    }),
  network: z.strictObject({
    cuid,
    delayMs: z.number().min(0).max(600_000).optional(),
    lose: z.boolean().optional(),
  }),
  device: z.strictObject({ cuid }),
  wait: z.strictObject({
    to: cuid.optional(),
    from: cuid.optional(),
    event: names(CallEvent).optional(),
    timeoutMs: z.number().min(0).max(600_000).default(10_000),
  }),
} as const;

/** Validates what steers calls; throws RequestError 400 with the path and cause of each error. */
export function parseSteering<Name extends keyof typeof steering>(
  name: Name,
  value: unknown,
): z.infer<(typeof steering)[Name]> {
  const { data, error } = steering[name].safeParse(value);
  if (data) return data as z.infer<(typeof steering)[Name]>;
  throw requestError(400, issueTexts(error, name).join('; '));
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
  return z.string().refine(isValid(validateHeaderName), 'is not a header name');
}

/** Milliseconds. */
const longestDelay = 600_000;

const headerValue = z.string().refine(
  isValid((text) => validateHeaderValue('X', text)),
  'is not a header value',
);

const answer = z.strictObject({
  status: z.int().min(200).max(599).default(200),
  headers: z.record(headerName(), headerValue).default({}),
  body: z.json().optional(),
});

const faultRule: z.ZodType<FaultRule, FaultRuleInput> = z
  .strictObject({
    endpoint: z.enum(endpointNames).optional(),
    match: z.string().min(1).optional(),
    after: z.int().min(0).default(0),
    times: z.int().min(1).optional(),
    answer: answer.optional(),
    action: z.enum(faultActions).optional(),
    delayMs: z.int().min(0).max(longestDelay).optional(),
  })
  .check(({ value: { endpoint, answer, action, delayMs }, issues }) => {
    const wrong = (path: string, message: string) =>
      void issues.push({ code: 'custom', path: [path], message, input: action });
    if (answer && action) wrong('action', 'cannot be combined with "answer"');
    if (!answer && !action && delayMs === undefined)
      wrong('action', 'is missing: set "action", "answer" or "delayMs"');
    const needsCursor = action === 'expire-cursor' || action === 'pending';
    if (needsCursor && !['profiles', 'events', undefined].includes(endpoint))
      wrong('action', `${action} needs a cursor, which "${endpoint}" does not accept`);
    if (action === 'lie-counts' && !['upload', 'subscribe', undefined].includes(endpoint))
      wrong('action', `lie-counts needs counts, which "${endpoint}" does not return`);
  });

/** Validates a fault rule; throws RequestError 400 with the path and cause of each error. */
export function parseFaultRule(value: unknown): FaultRule {
  const { data, error } = faultRule.safeParse(value);
  if (data) return data;
  const faults = error.issues.map(
    ({ path, message }) => `${['rule', ...path].join('.')}: ${message}`,
  );
  throw requestError(400, faults.join('; '));
}

function isValid(check: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      check(text);
      return true;
    } catch {
      return false;
    }
  };
}

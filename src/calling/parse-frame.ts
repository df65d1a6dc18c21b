import { isContext } from './call-request.js';
import {
  declineCodes,
  type Ack,
  type ClientFrame,
  type ClientFrames,
  type RouterFrame,
} from './protocol.js';
import { isCuid } from './cuid.js';

/** Result of parsing a client's frame. Frames of an `unknown` type are ignored, for later versions. */
type ParsedFrame =
  | { readonly kind: 'frame'; readonly frame: ClientFrame }
  | { readonly kind: 'malformed' | 'unknown' }
  /** A known type with an invalid member; `id` is that of the frame, if valid. */
  | { readonly kind: 'invalid'; readonly id: number | undefined; readonly message: string };

/** Parses and validates a client's frame, keeping only members of the protocol. */
export function parseClientFrame(text: string): ParsedFrame {
  const object = objectOf(text);
  if (object === undefined) return { kind: 'malformed' };
  const { t, id } = object;
  if (typeof t !== 'string' || !Object.hasOwn(rules, t)) return { kind: 'unknown' };
  const type = t as keyof ClientFrames;
  const hasId = isWhole(id);
  if (!hasId && type !== 'seen') {
    return { kind: 'invalid', id: undefined, message: `${t}: id must be a non-negative integer` };
  }
  const frame: Record<string, unknown> = { t, id: hasId ? id : 0 };
  for (const [name, { test, expected }] of Object.entries<Rule>(rules[type])) {
    const value = object[name];
    if (!test(value)) {
      return {
        kind: 'invalid',
        id: hasId ? id : undefined,
        message: `${t}: ${name} must be ${expected}`,
      };
    }
    if (value !== undefined) frame[name] = value;
  }
  return { kind: 'frame', frame: frame as unknown as ClientFrame };
}

/** Parses a router's frame without validating its members; returns undefined for an unknown type. */
export function parseRouterFrame(text: string): Ack | RouterFrame | undefined {
  const object = objectOf(text);
  return routerTypes.has(object?.['t']) ? (object as unknown as Ack | RouterFrame) : undefined;
}

const routerTypes: ReadonlySet<unknown> = new Set<(Ack | RouterFrame)['t']>([
  'ack',
  'incoming',
  'event',
  'over',
  'sdp',
  'missed',
  'action',
]);

interface Rule {
  readonly test: (value: unknown) => boolean;
  /** Completes "must be …". */
  readonly expected: string;
}

function stringUpTo(max: number): Rule {
  const test = (value: unknown) =>
    typeof value === 'string' && value.length > 0 && value.length <= max;
  return { test, expected: `a string of 1 to ${max} characters` };
}

const optional = ({ test, expected }: Rule): Rule => ({
  test: (value) => value === undefined || test(value),
  expected,
});

const isWhole = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const cuid: Rule = { test: isCuid, expected: 'a cuid' };
const callId = stringUpTo(64);
const whole: Rule = { test: isWhole, expected: 'a non-negative integer' };
const image: Rule = {
  test: (value) => typeof value === 'string' && value.length <= 2048 && /^https?:\/\//i.test(value),
  expected: 'an http or https URL',
};
const caps: Rule = {
  test: (value) =>
    isPlain(value) && ['undefined', 'boolean'].includes(typeof value['notifications']),
  expected: 'an object like {"notifications":true}',
};
const missedCallActions: Rule = {
  test: (value) =>
    isPlain(value) &&
    Object.keys(value).length <= 3 &&
    Object.entries(value).flat().every(stringUpTo(200).test),
  expected: 'an object of at most 3 ids with labels',
};
const declineCode: Rule = {
  test: (value) => Object.values<unknown>(declineCodes).includes(value),
  expected: `one of ${Object.values(declineCodes).join(', ')}`,
};

/** Members of each frame besides `t` and `id`. */
const rules: {
  readonly [T in keyof ClientFrames]: { readonly [Name in keyof ClientFrames[T]]-?: Rule };
} = {
  hello: { nonce: stringUpTo(128) },
  auth: {
    accountId: stringUpTo(256),
    proof: optional(stringUpTo(128)),
    apiKey: optional(stringUpTo(1024)),
    token: optional(stringUpTo(4096)),
    cuid,
    deviceId: stringUpTo(128),
    platform: {
      test: (value) => value === 'android' || value === 'ios',
      expected: 'android or ios',
    },
    lastSeq: optional(whole),
    caps,
    missedCallActions,
  },
  call: {
    to: cuid,
    context: { test: isContext, expected: '1 to 64 letters, digits and single spaces' },
    initiatorImage: optional(image),
    receiverImage: optional(image),
  },
  answer: { callId },
  decline: { callId, reasonCode: optional(declineCode) },
  hangup: { callId: optional(callId) },
  ready: { callId },
  sdp: { callId, payload: { test: (value) => value !== undefined, expected: 'a JSON value' } },
  logout: {},
  seen: { seq: whole },
  probe: {},
  ice: {},
  bye: {},
};

/** Nesting of any frame, far above that of a media description. JSON.stringify overflows the stack at some thousands. */
const maxDepth = 32;

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isPlain(value) && isWithin(maxDepth, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isWithin = (depth: number, value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((inner) => isWithin(depth - 1, inner)));

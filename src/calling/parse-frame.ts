import { isContext } from './call-request.js';
import {
  declineCodes,
  type Ack,
  type ClientFrame,
  type ClientFrames,
  type RouterFrame,
} from './protocol.js';
import { isCuid } from './cuid.js';

/** What a frame of a client comes to. `unknown` types are for later versions: they are ignored. */
type ParsedFrame =
  | { readonly kind: 'frame'; readonly frame: ClientFrame }
  | { readonly kind: 'malformed' | 'unknown' }
  /** A known type with a wrong shape; `id`: that of the answer, when the frame has one. */
  | { readonly kind: 'wrong'; readonly id: number | undefined; readonly message: string };

/** Reads a client's frame. Of one that is right only the members that are in the protocol are kept. */
export function parseClientFrame(text: string): ParsedFrame {
  const object = objectOf(text);
  if (object === undefined) return { kind: 'malformed' };
  const { t, id } = object;
  if (typeof t !== 'string' || !Object.hasOwn(rules, t)) return { kind: 'unknown' };
  const type = t as keyof ClientFrames;
  const hasId = isWhole(id);
  if (!hasId && type !== 'seen') {
    return { kind: 'wrong', id: undefined, message: `${t}: id is not a number from 0 on` };
  }
  const frame: Record<string, unknown> = { t, id: hasId ? id : 0 };
  for (const [name, { test, words }] of Object.entries<Rule>(rules[type])) {
    const value = object[name];
    if (!test(value)) {
      return {
        kind: 'wrong',
        id: hasId ? id : undefined,
        message: `${t}: ${name} is not ${words}`,
      };
    }
    if (value !== undefined) frame[name] = value;
  }
  return { kind: 'frame', frame: frame as unknown as ClientFrame };
}

/** Reads a frame of the router, which is trusted to keep its shape; undefined: a type of later versions. */
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
  /** What the value has to be. */
  readonly words: string;
}

function textUpTo(most: number): Rule {
  const test = (value: unknown) =>
    typeof value === 'string' && value.length > 0 && value.length <= most;
  return { test, words: `a text of 1 to ${most} characters` };
}

const optional = ({ test, words }: Rule): Rule => ({
  test: (value) => value === undefined || test(value),
  words,
});

const isWhole = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const cuid: Rule = { test: isCuid, words: 'a cuid' };
const callId = textUpTo(64);
const whole: Rule = { test: isWhole, words: 'a number from 0 on' };
const image: Rule = {
  test: (value) => typeof value === 'string' && value.length <= 2048 && /^https?:\/\//i.test(value),
  words: 'an http or https URL',
};
const caps: Rule = {
  test: (value) =>
    isPlain(value) && ['undefined', 'boolean'].includes(typeof value['notifications']),
  words: 'an object like {"notifications":true}',
};
const missedCallActions: Rule = {
  test: (value) =>
    isPlain(value) &&
    Object.keys(value).length <= 3 &&
    Object.entries(value).flat().every(textUpTo(200).test),
  words: 'an object of at most 3 ids with their labels',
};
const declineCode: Rule = {
  test: (value) => Object.values<unknown>(declineCodes).includes(value),
  words: `one of ${Object.values(declineCodes).join(', ')}`,
};

/** Members of each frame besides `t` and `id`. */
const rules: {
  readonly [T in keyof ClientFrames]: { readonly [Name in keyof ClientFrames[T]]-?: Rule };
} = {
  hello: { nonce: textUpTo(128) },
  auth: {
    accountId: textUpTo(256),
    proof: optional(textUpTo(128)),
    apiKey: optional(textUpTo(1024)),
    cuid,
    deviceId: textUpTo(128),
    platform: { test: (value) => value === 'android' || value === 'ios', words: 'android or ios' },
    lastSeq: optional(whole),
    caps,
    missedCallActions,
  },
  call: {
    to: cuid,
    context: { test: isContext, words: '1 to 64 letters, digits and single spaces' },
    initiatorImage: optional(image),
    receiverImage: optional(image),
  },
  answer: { callId },
  decline: { callId, reasonCode: optional(declineCode) },
  hangup: { callId: optional(callId) },
  ready: { callId },
  sdp: { callId, payload: { test: (value) => value !== undefined, words: 'a JSON value' } },
  logout: {},
  seen: { seq: whole },
  probe: {},
  bye: {},
};

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isPlain(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

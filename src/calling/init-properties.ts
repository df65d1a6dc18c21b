import { validateCuid, type CuidRule } from './cuid.js';
import type { MissedCallActions, Platform } from './protocol.js';
import type { ErrorName } from './errors.js';

/** What `initialize` takes. What only a screen has a use for is checked, and kept by nobody. */
export interface InitProperties {
  readonly accountId: string;
  readonly apiKey: string;
  /** 5 to 50 letters, digits and `_`; one for each user on each device. */
  readonly cuid: string;
  /** Required on Android. */
  readonly allowPersistSocketConnection?: boolean;
  /** Required on iOS. */
  readonly production?: boolean;
  readonly overrideDefaultBranding?: Branding;
  /** Android: id of an action → the label of its button; at most 3. */
  readonly missedCallActions?: MissedCallActions;
  /** Android 13 and newer. */
  readonly promptPushPrimer?: PushPrimer;
  /** Android. */
  readonly promptReceiverReadPhoneStatePermission?: boolean;
}

/** Colours are `#RGB`, `#RRGGBB` or `#AARRGGBB`. */
export interface Branding {
  readonly bgColor?: string;
  readonly fontColor?: string;
  /** https */
  readonly logoUrl?: string;
  readonly buttonTheme?: 'light' | 'dark';
  readonly showPoweredBySignedCall?: boolean;
}

export interface PushPrimer {
  readonly inAppType: 'half-interstitial' | 'alert';
  readonly titleText: string;
  readonly messageText: string;
  readonly positiveBtnText: string;
  readonly negativeBtnText: string;
  readonly followDeviceOrientation?: boolean;
  readonly fallbackToSettings?: boolean;
  readonly imageUrl?: string;
  /** The rest belongs to half-interstitial. */
  readonly backgroundColor?: string;
  readonly btnBorderColor?: string;
  readonly titleTextColor?: string;
  readonly messageTextColor?: string;
  readonly btnTextColor?: string;
  readonly btnBackgroundColor?: string;
  /** A number in a string. */
  readonly btnBorderRadius?: string;
}

const matches = (form: RegExp) => (value: unknown) => typeof value === 'string' && form.test(value);
const yesOrNo = (words: string): Shape => ({
  rule: 'type',
  test: (value) => typeof value === 'boolean',
  words,
});
const oneOf = (...values: string[]): Shape => ({
  rule: 'choice',
  test: (value) => values.includes(value as string),
  words: values.join(' or '),
});
const required = (shape: Shape): Shape => ({ ...shape, isRequired: true });

const text = required({ rule: 'type', test: matches(/./s), words: 'a non-empty string' });
const flag = yesOrNo('true or false');
const colour: Shape = {
  rule: 'hex-colour',
  test: matches(/^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i),
  words: '#RGB, #RRGGBB or #AARRGGBB',
};

const identity: Shapes = { accountId: text, apiKey: text };
const persistence: Shapes = {
  allowPersistSocketConnection: required(yesOrNo('true or false on Android')),
};
const production: Shapes = { production: required(yesOrNo('true or false on iOS')) };
const phoneState: Shapes = { promptReceiverReadPhoneStatePermission: flag };
const known = [
  ...Object.keys({ ...identity, ...persistence, ...production, ...phoneState }),
  'cuid',
  'overrideDefaultBranding',
  'promptPushPrimer',
  'missedCallActions',
];

const branding: Shapes = {
  bgColor: colour,
  fontColor: colour,
  logoUrl: { rule: 'url', test: (value) => isUrl(value, 'https'), words: 'an https URL' },
  buttonTheme: oneOf('light', 'dark'),
  showPoweredBySignedCall: flag,
};

const primer: Shapes = {
  inAppType: required(oneOf('half-interstitial', 'alert')),
  titleText: text,
  messageText: text,
  positiveBtnText: text,
  negativeBtnText: text,
  followDeviceOrientation: flag,
  fallbackToSettings: flag,
  imageUrl: { rule: 'url', test: (value) => isUrl(value, 'https?'), words: 'an http or https URL' },
};
/** Of a primer that is half-interstitial. */
const primerStyle: Shapes = {
  backgroundColor: colour,
  btnBorderColor: colour,
  titleTextColor: colour,
  messageTextColor: colour,
  btnTextColor: colour,
  btnBackgroundColor: colour,
  btnBorderRadius: {
    rule: 'numeric-string',
    test: matches(/^\d+(?:\.\d+)?$/),
    words: 'a number in a string, as "4"',
  },
};

/**
 * All that is to be said of the object for `initialize`, in the order in which the SDK looks at it: its first
 * error is what `initialize` answers. What belongs to the other platform only is not looked at.
 */
export function lintInitProperties(
  properties: unknown,
  platform: Platform,
): readonly InitFinding[] {
  if (!isProperties(properties)) return [finding([], 'type', 'INIT_CONFIG', 'must be an object')];
  return [...lint(properties, platform)];
}

function* lint(properties: Properties, platform: Platform): Findings {
  yield* shapeErrors(properties, identity, 'ACCOUNT_OR_KEY_MISSING');
  for (const { rule, errorName, message } of validateCuid(properties['cuid']))
    yield finding(['cuid'], rule, errorName, message);
  if (platform === 'android') yield* shapeErrors(properties, persistence, 'PERSIST_REQUIRED');
  else yield* shapeErrors(properties, production, 'PRODUCTION_REQUIRED');
  yield* lintBranding(properties);
  if (platform === 'android') {
    yield* lintMissedCallActions(properties);
    yield* lintPushPrimer(properties);
    yield* shapeErrors(properties, phoneState, 'INIT_CONFIG');
  }
  yield* unknownKeys(properties, known);
}

function* lintBranding(properties: Properties): Findings {
  const at = 'overrideDefaultBranding';
  const given = yield* objectAt(properties, at, 'BRANDING');
  if (given === undefined) return;
  yield* shapeErrors(given, branding, 'BRANDING', [at]);
  yield* unknownKeys(given, Object.keys(branding), [at]);
}

function* lintMissedCallActions(properties: Properties): Findings {
  const at = 'missedCallActions';
  const entries = Object.entries((yield* objectAt(properties, at, 'INIT_CONFIG')) ?? {});
  if (entries.length > 3)
    yield finding([at], 'at-most-3', 'INIT_CONFIG', `has ${entries.length} entries: 3 fit`);
  for (const [id, label] of entries) {
    if (id === '' || typeof label !== 'string' || label === '')
      yield finding([at, id], 'type', 'INIT_CONFIG', 'must be a non-empty identifier with a label');
  }
}

function* lintPushPrimer(properties: Properties): Findings {
  const at = 'promptPushPrimer';
  const given = yield* objectAt(properties, at, 'INIT_CONFIG');
  if (given === undefined) return;
  yield* shapeErrors(given, primer, 'INIT_CONFIG', [at]);
  if (given['inAppType'] === 'alert') {
    for (const name of Object.keys(primerStyle).filter((style) => given[style] !== undefined))
      yield finding([at, name], 'ignored', null, 'is ignored: it belongs to half-interstitial');
  } else yield* shapeErrors(given, primerStyle, 'INIT_CONFIG', [at]);
  yield* unknownKeys(given, Object.keys({ ...primer, ...primerStyle }), [at]);
}

/** The value of a property that may be missing. */
function* objectAt(
  properties: Properties,
  name: string,
  errorName: ErrorName,
): Generator<InitFinding, Properties | undefined> {
  const value = properties[name];
  if (value === undefined || isProperties(value)) return value;
  yield finding([name], 'type', errorName, 'must be an object');
  return undefined;
}

export type InitRule =
  | CuidRule
  | 'type'
  | 'choice'
  | 'hex-colour'
  | 'url'
  | 'numeric-string'
  | 'at-most-3'
  | 'ignored'
  | 'unknown-key';

/** One thing to be said of initProperties. */
export interface InitFinding {
  /** JSON pointer (RFC 6901) to the property; of one that is missing, where it should be. */
  readonly pointer: string;
  readonly rule: InitRule;
  readonly severity: 'error' | 'warning';
  /** What `initialize` would answer; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}

export type Findings = Generator<InitFinding, void, undefined>;

export type Properties = Readonly<Record<string, unknown>>;

export const isProperties = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `/a/b` for the path a, b; the message begins with the property's name. */
export function finding(
  path: readonly string[],
  rule: InitRule,
  errorName: ErrorName | null,
  message: string,
): InitFinding {
  const pointer = path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  return {
    pointer: pointer.join(''),
    rule,
    severity: errorName === null ? 'warning' : 'error',
    errorName,
    message: `${path.at(-1) ?? 'initProperties'} ${message}`,
  };
}

/** What the value of a property has to be. */
export interface Shape {
  readonly rule: InitRule;
  readonly test: (value: unknown) => boolean;
  /** Behind "must be". */
  readonly words: string;
  readonly isRequired?: boolean;
}
type Shapes = Readonly<Record<string, Shape>>;

/** Errors for properties whose values do not have their shapes. */
function* shapeErrors(
  properties: Properties,
  shapes: Shapes,
  errorName: ErrorName,
  path: readonly string[] = [],
): Findings {
  for (const [name, { rule, test, words, isRequired = false }] of Object.entries(shapes)) {
    const value = properties[name];
    if (value === undefined ? !isRequired : test(value)) continue;
    const broken = value === undefined ? 'required' : rule;
    yield finding([...path, name], broken, errorName, `must be ${words}`);
  }
}

/** Warnings for keys that are none of the known ones: the SDK ignores them. */
function* unknownKeys(
  properties: Properties,
  known: readonly string[],
  path: readonly string[] = [],
): Findings {
  for (const key of Object.keys(properties)) {
    if (known.includes(key)) continue;
    const near = closestName(key, known);
    const hint = near === undefined ? '' : `: did you mean ${near}?`;
    yield finding([...path, key], 'unknown-key', null, `is not a known property${hint}`);
  }
}

/** By its form only: not every platform has a whole URL class. */
export const isUrl = (value: unknown, schemes: 'https' | 'https?'): boolean =>
  typeof value === 'string' && new RegExp(`^${schemes}://[^\\s/?#]+[^\\s]*$`, 'i').test(value);

/** The one of the names that was probably meant, if one is close: at most a third of it is different. */
export function closestName(typed: string, names: readonly string[]): string | undefined {
  const near = names
    .map((name) => ({ name, distance: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.ceil(name.length / 3))
    .sort((one, other) => one.distance - other.distance);
  return near[0]?.name;
}

/** Levenshtein distance, with one row in memory. Longer names than any of ours are far from all of them. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > other.length) return Infinity;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 0; at < one.length; at += 1) {
    const next = [at + 1];
    for (let index = 0; index < other.length; index += 1) {
      const changed = row[index]! + (one[at] === other[index] ? 0 : 1);
      next.push(Math.min(changed, row[index + 1]! + 1, next[index]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}

import { validateCuid, type CuidRule } from './cuid.js';
import type { MissedCallActions, Platform } from './protocol.js';
import type { ErrorName } from './errors.js';

/** Argument of `initialize`. Properties that only affect screens are validated and otherwise unused. */
export interface InitProperties {
  readonly accountId: string;
  readonly apiKey: string;
  /** 5 to 50 letters, digits and `_`; unique per user and device. */
  readonly cuid: string;
  /** Required on Android. */
  readonly allowPersistSocketConnection?: boolean;
  /** Required on iOS. */
  readonly production?: boolean;
  readonly overrideDefaultBranding?: Branding;
  /** Android: labels of at most 3 buttons by action id. */
  readonly missedCallActions?: MissedCallActions;
  /** Android 13 and newer. */
  readonly promptPushPrimer?: PushPrimer;
  /** Android. */
  readonly promptReceiverReadPhoneStatePermission?: boolean;
}

/** Overrides the branding of the dashboard. Colors are `#RGB`, `#RRGGBB` or `#AARRGGBB`. */
export interface Branding {
  readonly bgColor?: string;
  readonly fontColor?: string;
  /** HTTPS URL. */
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
  /** The following apply to half-interstitial only. */
  readonly backgroundColor?: string;
  readonly btnBorderColor?: string;
  readonly titleTextColor?: string;
  readonly messageTextColor?: string;
  readonly btnTextColor?: string;
  readonly btnBackgroundColor?: string;
  /** A number as a string, such as "4". */
  readonly btnBorderRadius?: string;
}

const matches = (form: RegExp) => (value: unknown) => typeof value === 'string' && form.test(value);
const yesOrNo = (expected: string): Shape => ({
  rule: 'type',
  test: (value) => typeof value === 'boolean',
  expected,
});
const oneOf = (...values: string[]): Shape => ({
  rule: 'choice',
  test: (value) => values.includes(value as string),
  expected: values.join(' or '),
});
const required = (shape: Shape): Shape => ({ ...shape, isRequired: true });

const text = required({ rule: 'type', test: matches(/./s), expected: 'a non-empty string' });
const flag = yesOrNo('true or false');
const colour: Shape = {
  rule: 'hex-colour',
  test: matches(/^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i),
  expected: '#RGB, #RRGGBB or #AARRGGBB',
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
  logoUrl: { rule: 'url', test: (value) => isUrl(value, 'https'), expected: 'an https URL' },
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
  imageUrl: {
    rule: 'url',
    test: (value) => isUrl(value, 'https?'),
    expected: 'an http or https URL',
  },
};
/** Properties of a half-interstitial primer. */
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
    expected: 'a number as a string, such as "4"',
  },
};

/**
 * Validates the argument of `initialize`. Returns all findings in the order in which the SDK checks them;
 * `initialize` fails with the first error. Properties of the other platform are not checked.
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
  const expected = 'must be an object of action ids and labels, such as {"later":"Call me later"}';
  const entries = Object.entries((yield* objectAt(properties, at, 'INIT_CONFIG', expected)) ?? {});
  if (entries.length > 3)
    yield finding(
      [at],
      'at-most-3',
      'INIT_CONFIG',
      `has ${entries.length} entries, the maximum is 3`,
    );
  for (const [id, label] of entries) {
    const path = [at, id];
    if (id === '') yield finding(path, 'type', 'INIT_CONFIG', 'has an empty action id');
    else if (typeof label !== 'string' || label === '')
      yield finding(
        path,
        'type',
        'INIT_CONFIG',
        'must be the label of a button: a non-empty string',
      );
  }
}

function* lintPushPrimer(properties: Properties): Findings {
  const at = 'promptPushPrimer';
  const given = yield* objectAt(properties, at, 'INIT_CONFIG');
  if (given === undefined) return;
  yield* shapeErrors(given, primer, 'INIT_CONFIG', [at]);
  if (given['inAppType'] === 'alert') {
    for (const name of Object.keys(primerStyle).filter((style) => given[style] !== undefined))
      yield finding(
        [at, name],
        'ignored',
        null,
        'is ignored, because it applies to half-interstitial',
      );
  } else yield* shapeErrors(given, primerStyle, 'INIT_CONFIG', [at]);
  yield* unknownKeys(given, Object.keys({ ...primer, ...primerStyle }), [at]);
}

/** Returns the object at an optional property; yields an error if it is not an object. */
function* objectAt(
  properties: Properties,
  name: string,
  errorName: ErrorName,
  expected = 'must be an object',
): Generator<InitFinding, Properties | undefined> {
  const value = properties[name];
  if (value === undefined || isProperties(value)) return value;
  yield finding([name], 'type', errorName, expected);
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

/** An error or warning about initProperties. */
export interface InitFinding {
  /** JSON pointer (RFC 6901) to the property, which may be missing. */
  readonly pointer: string;
  readonly rule: InitRule;
  readonly severity: 'error' | 'warning';
  /** Error that `initialize` resolves with; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}

export type Findings = Generator<InitFinding, void, undefined>;

export type Properties = Readonly<Record<string, unknown>>;

export const isProperties = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Builds a finding. The pointer of the path a, b is `/a/b`; the message starts with `a.b`. */
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
    message: `${path.join('.') || 'initProperties'} ${message}`,
  };
}

/** Constraint on the value of a property. */
export interface Shape {
  readonly rule: InitRule;
  readonly test: (value: unknown) => boolean;
  /** Completes "must be …". */
  readonly expected: string;
  readonly isRequired?: boolean;
}
type Shapes = Readonly<Record<string, Shape>>;

/** Yields an error for each property that violates its shape. */
function* shapeErrors(
  properties: Properties,
  shapes: Shapes,
  errorName: ErrorName,
  path: readonly string[] = [],
): Findings {
  for (const [name, { rule, test, expected, isRequired = false }] of Object.entries(shapes)) {
    const value = properties[name];
    if (value === undefined ? !isRequired : test(value)) continue;
    const broken = value === undefined ? 'required' : rule;
    yield finding([...path, name], broken, errorName, `must be ${expected}`);
  }
}

/** Yields a warning for each unknown key, which the SDK ignores. */
function* unknownKeys(
  properties: Properties,
  known: readonly string[],
  path: readonly string[] = [],
): Findings {
  for (const key of Object.keys(properties)) {
    if (known.includes(key)) continue;
    const near = closestName(key, known);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    yield finding([...path, key], 'unknown-key', null, `is not a known property${hint}`);
  }
}

/** Whether the value has the form of a URL. React Native has no complete URL class. */
export const isUrl = (value: unknown, schemes: 'https' | 'https?'): boolean =>
  typeof value === 'string' && new RegExp(`^${schemes}://[^\\s/?#]+[^\\s]*$`, 'i').test(value);

/** Returns the name closest to a misspelled one, if at most a third of it differs. */
export function closestName(typed: string, names: readonly string[]): string | undefined {
  const near = names
    .map((name) => ({ name, distance: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.ceil(name.length / 3))
    .sort((one, other) => one.distance - other.distance);
  return near[0]?.name;
}

/** Returns the Levenshtein distance; Infinity if the lengths differ too much. */
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

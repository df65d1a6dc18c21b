import {
  found,
  isProperties,
  isUrl,
  misshapen,
  unknownKeys,
  type Findings,
  type InitFinding,
  type Properties,
  type Shape,
  type Shapes,
} from './init-finding.js';
import { validateCuid } from './cuid.js';
import type { ErrorName } from './errors.js';
import type { Platform } from './protocol.js';

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
  if (!isProperties(properties)) return [found([], 'type', 'INIT_CONFIG', 'must be an object')];
  return [...lint(properties, platform)];
}

function* lint(properties: Properties, platform: Platform): Findings {
  yield* misshapen(properties, identity, 'ACCOUNT_OR_KEY_MISSING');
  for (const { rule, errorName, message } of validateCuid(properties['cuid']))
    yield found(['cuid'], rule, errorName, message);
  if (platform === 'android') yield* misshapen(properties, persistence, 'PERSIST_REQUIRED');
  else yield* misshapen(properties, production, 'PRODUCTION_REQUIRED');
  yield* lintBranding(properties);
  if (platform === 'android') {
    yield* lintMissedCallActions(properties);
    yield* lintPushPrimer(properties);
    yield* misshapen(properties, phoneState, 'INIT_CONFIG');
  }
  yield* unknownKeys(properties, known);
}

function* lintBranding(properties: Properties): Findings {
  const at = 'overrideDefaultBranding';
  const given = yield* objectAt(properties, at, 'BRANDING');
  if (given === undefined) return;
  yield* misshapen(given, branding, 'BRANDING', [at]);
  yield* unknownKeys(given, Object.keys(branding), [at]);
}

function* lintMissedCallActions(properties: Properties): Findings {
  const at = 'missedCallActions';
  const entries = Object.entries((yield* objectAt(properties, at, 'INIT_CONFIG')) ?? {});
  if (entries.length > 3)
    yield found([at], 'at-most-3', 'INIT_CONFIG', `has ${entries.length} entries: 3 fit`);
  for (const [id, label] of entries) {
    if (id === '' || typeof label !== 'string' || label === '')
      yield found([at, id], 'type', 'INIT_CONFIG', 'must be a non-empty identifier with a label');
  }
}

function* lintPushPrimer(properties: Properties): Findings {
  const at = 'promptPushPrimer';
  const given = yield* objectAt(properties, at, 'INIT_CONFIG');
  if (given === undefined) return;
  yield* misshapen(given, primer, 'INIT_CONFIG', [at]);
  if (given['inAppType'] === 'alert') {
    for (const name of Object.keys(primerStyle).filter((style) => given[style] !== undefined))
      yield found([at, name], 'ignored', null, 'is ignored: it belongs to half-interstitial');
  } else yield* misshapen(given, primerStyle, 'INIT_CONFIG', [at]);
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
  yield found([name], 'type', errorName, 'must be an object');
  return undefined;
}

import {
  found,
  isHexColour,
  isProperties,
  isUrl,
  unknownKeys,
  type Findings,
  type InitRule,
  type Properties,
} from './init-finding.js';

const texts = ['titleText', 'messageText', 'positiveBtnText', 'negativeBtnText'];
const switches = ['followDeviceOrientation', 'fallbackToSettings'];
const colours = [
  'backgroundColor',
  'btnBorderColor',
  'titleTextColor',
  'messageTextColor',
  'btnTextColor',
  'btnBackgroundColor',
];
const known = ['inAppType', 'imageUrl', ...texts, ...switches, ...colours, 'btnBorderRadius'];

const at = 'promptPushPrimer';
const wrong = (name: string, rule: InitRule, message: string) =>
  found([at, name], rule, 'INIT_CONFIG', message);

/** What is to be said of promptPushPrimer. */
export function* lintPushPrimer(primer: unknown): Findings {
  if (!isProperties(primer)) {
    yield found([at], 'type', 'INIT_CONFIG', 'must be an object');
    return;
  }
  const { inAppType, imageUrl } = primer;
  if (inAppType !== 'half-interstitial' && inAppType !== 'alert')
    yield wrong('inAppType', 'choice', 'must be half-interstitial or alert');
  yield* lintTexts(primer);
  if (imageUrl !== undefined && !isUrl(imageUrl, 'https?'))
    yield wrong('imageUrl', 'url', 'must be an http or https URL');
  yield* inAppType === 'alert' ? ignoredStyle(primer) : lintStyle(primer);
  yield* unknownKeys(primer, known, [at]);
}

function* lintTexts(primer: Properties): Findings {
  for (const name of texts) {
    const text = primer[name];
    if (typeof text !== 'string' || text === '')
      yield wrong(name, text === undefined ? 'required' : 'type', 'must be a non-empty string');
  }
  for (const name of switches) {
    if (primer[name] !== undefined && typeof primer[name] !== 'boolean')
      yield wrong(name, 'type', 'must be true or false');
  }
}

function* lintStyle(primer: Properties): Findings {
  for (const name of colours) {
    if (primer[name] !== undefined && !isHexColour(primer[name]))
      yield wrong(name, 'hex-colour', 'must be #RGB, #RRGGBB or #AARRGGBB');
  }
  const { btnBorderRadius: radius } = primer;
  if (radius !== undefined && !(typeof radius === 'string' && /^\d+(?:\.\d+)?$/.test(radius)))
    yield wrong('btnBorderRadius', 'numeric-string', 'must be a number in a string, as "4"');
}

function* ignoredStyle(primer: Properties): Findings {
  for (const name of [...colours, 'btnBorderRadius']) {
    if (primer[name] !== undefined)
      yield found([at, name], 'ignored', null, 'is ignored: it belongs to half-interstitial');
  }
}

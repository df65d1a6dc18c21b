import { expect, it } from 'vitest';
import { lintInitProperties } from '../../src/calling/init-properties.js';
import { validateCuid } from '../../src/calling/cuid.js';

it.each([
  ['org_25', []],
  ['91_88a', []],
  ['1_2_a', []],
  ['91_8899555', ['number-separator-number']],
  ['a-b_cde', ['alphabet']],
  ['usér1', ['alphabet']],
  ['_user1', ['first-character']],
  ['abcd', ['length']],
  ['a'.repeat(50), []],
  ['a'.repeat(51), ['length']],
  ['a'.repeat(1_000_000), ['length']],
  ['-ab', ['length', 'first-character', 'alphabet']],
  ['😀😀😀😀😀', ['first-character', 'alphabet']],
  ['user1\u202e', ['alphabet']],
  ['', ['required']],
  [undefined, ['required']],
  [12345, ['type']],
  ['12345', ['no-letter']],
  ['12_34_56', ['no-letter']],
  ['user__1', ['underscores']],
  ['user1_', ['underscores']],
])('reports for the cuid %j: %j', (cuid, rules) => {
  expect(validateCuid(cuid).map(({ rule }) => rule)).toEqual(rules);
});

const good = {
  accountId: 'A',
  apiKey: 'K',
  cuid: 'ann_1',
  allowPersistSocketConnection: true,
  production: false,
};
const primer = {
  inAppType: 'half-interstitial',
  titleText: 't',
  messageText: 'm',
  positiveBtnText: 'p',
  negativeBtnText: 'n',
};

it.each(['android', 'ios'] as const)('reports nothing for valid properties on %s', (platform) => {
  expect(lintInitProperties(good, platform)).toEqual([]);
  const whole = {
    ...good,
    overrideDefaultBranding: {
      bgColor: '#fff',
      fontColor: '#80FFFFFF',
      logoUrl: 'https://example.test/logo.png',
      buttonTheme: 'dark',
      showPoweredBySignedCall: false,
    },
    missedCallActions: { again: 'Call again', later: 'Later', never: 'No' },
    promptPushPrimer: { ...primer, imageUrl: 'https://a.test/i', btnBorderRadius: '4' },
    promptReceiverReadPhoneStatePermission: true,
  };
  expect(lintInitProperties(whole, platform)).toEqual([]);
});

it.each<[what: string, properties: unknown, findings: string[]]>([
  [
    'flags of the primer',
    {
      ...good,
      promptPushPrimer: { ...primer, followDeviceOrientation: 1, fallbackToSettings: 'x' },
    },
    [
      'error INIT_CONFIG type /promptPushPrimer/followDeviceOrientation',
      'error INIT_CONFIG type /promptPushPrimer/fallbackToSettings',
    ],
  ],
  ['no object', [], ['error INIT_CONFIG type ']],
  [
    'nothing',
    {},
    [
      'error ACCOUNT_OR_KEY_MISSING required /accountId',
      'error ACCOUNT_OR_KEY_MISSING required /apiKey',
      'error CUID_MISSING required /cuid',
      'error PERSIST_REQUIRED required /allowPersistSocketConnection',
    ],
  ],
  [
    'branding',
    {
      ...good,
      overrideDefaultBranding: { bgColor: 'red', logoUrl: 'http://a.test', butonTheme: 1 },
    },
    [
      'error BRANDING hex-colour /overrideDefaultBranding/bgColor',
      'error BRANDING url /overrideDefaultBranding/logoUrl',
      'warning null unknown-key /overrideDefaultBranding/butonTheme',
    ],
  ],
  [
    'actions',
    { ...good, missedCallActions: { a: 'A', 'b/c~': '', c: 'C', d: 'D' } },
    [
      'error INIT_CONFIG at-most-3 /missedCallActions',
      'error INIT_CONFIG type /missedCallActions/b~1c~0',
    ],
  ],
  [
    'a primer',
    { ...good, promptPushPrimer: { inAppType: 'alert', titleText: 1, btnTextColor: '#fff' } },
    [
      'error INIT_CONFIG type /promptPushPrimer/titleText',
      'error INIT_CONFIG required /promptPushPrimer/messageText',
      'error INIT_CONFIG required /promptPushPrimer/positiveBtnText',
      'error INIT_CONFIG required /promptPushPrimer/negativeBtnText',
      'warning null ignored /promptPushPrimer/btnTextColor',
    ],
  ],
  [
    'style',
    { ...good, promptPushPrimer: { ...primer, btnTextColor: '#ff', btnBorderRadius: 4 } },
    [
      'error INIT_CONFIG hex-colour /promptPushPrimer/btnTextColor',
      'error INIT_CONFIG numeric-string /promptPushPrimer/btnBorderRadius',
    ],
  ],
  [
    'a key that is nearly one',
    { ...good, alowPersistSocketConnection: true },
    ['warning null unknown-key /alowPersistSocketConnection'],
  ],
])('reports every invalid property in %s', (...[, properties, findings]) => {
  const found = lintInitProperties(properties, 'android').map(
    ({ severity, errorName, rule, pointer }) => `${severity} ${errorName} ${rule} ${pointer}`,
  );
  expect(found).toEqual(findings);
});

it('checks on each platform only the properties that belong to it', () => {
  const { production, allowPersistSocketConnection, ...neither } = good;
  const names = (properties: object, platform: 'android' | 'ios') =>
    lintInitProperties(properties, platform).map(({ errorName }) => errorName);
  expect(names({ ...neither, production }, 'android')).toEqual(['PERSIST_REQUIRED']);
  expect(names({ ...neither, allowPersistSocketConnection }, 'ios')).toEqual([
    'PRODUCTION_REQUIRED',
  ]);
  expect(names({ ...good, promptPushPrimer: 7 }, 'ios')).toEqual([]);
});

it('suggests the property that was probably meant', () => {
  const [finding] = lintInitProperties({ ...good, missedCallAction: {} }, 'android');
  expect(finding?.message).toBe(
    'missedCallAction is not a known property; did you mean missedCallActions?',
  );
});

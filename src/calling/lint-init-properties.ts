import type { Platform } from './protocol.js';
import {
  found,
  isProperties,
  unknownKeys,
  type Findings,
  type InitFinding,
  type Properties,
} from './init-finding.js';
import { lintBranding } from './lint-branding.js';
import { lintPushPrimer } from './lint-push-primer.js';
import { validateCuid } from './validate-cuid.js';

const known = [
  'accountId',
  'apiKey',
  'cuid',
  'overrideDefaultBranding',
  'production',
  'allowPersistSocketConnection',
  'promptPushPrimer',
  'promptReceiverReadPhoneStatePermission',
  'missedCallActions',
];

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
  yield* lintIdentity(properties);
  if (platform === 'android') yield* lintPersistence(properties);
  else yield* lintProduction(properties);
  const { overrideDefaultBranding: branding, promptPushPrimer: primer } = properties;
  if (branding !== undefined) yield* lintBranding(branding);
  if (platform === 'android') {
    yield* lintMissedCallActions(properties['missedCallActions']);
    if (primer !== undefined) yield* lintPushPrimer(primer);
    yield* lintPhoneState(properties['promptReceiverReadPhoneStatePermission']);
  }
  yield* unknownKeys(properties, known);
}

function* lintIdentity(properties: Properties): Findings {
  for (const name of ['accountId', 'apiKey']) {
    const value = properties[name];
    if (typeof value === 'string' && value !== '') continue;
    const rule = value === undefined ? 'required' : 'type';
    yield found([name], rule, 'ACCOUNT_OR_KEY_MISSING', 'must be a non-empty string');
  }
  for (const { rule, errorName, message } of validateCuid(properties['cuid']))
    yield found(['cuid'], rule, errorName, message);
}

function* lintPersistence({ allowPersistSocketConnection: persist }: Properties): Findings {
  if (typeof persist === 'boolean') return;
  const rule = persist === undefined ? 'required' : 'type';
  yield found(
    ['allowPersistSocketConnection'],
    rule,
    'PERSIST_REQUIRED',
    'must be true or false on Android',
  );
}

function* lintProduction({ production }: Properties): Findings {
  if (typeof production === 'boolean') return;
  const rule = production === undefined ? 'required' : 'type';
  yield found(['production'], rule, 'PRODUCTION_REQUIRED', 'must be true or false on iOS');
}

function* lintMissedCallActions(actions: unknown): Findings {
  const at = 'missedCallActions';
  if (actions === undefined) return;
  if (!isProperties(actions)) {
    yield found([at], 'type', 'INIT_CONFIG', 'must be an object of identifiers and labels');
    return;
  }
  const entries = Object.entries(actions);
  if (entries.length > 3)
    yield found([at], 'at-most-3', 'INIT_CONFIG', `has ${entries.length} entries: 3 fit`);
  for (const [id, label] of entries) {
    if (id === '' || typeof label !== 'string' || label === '')
      yield found([at, id], 'type', 'INIT_CONFIG', 'must be a non-empty identifier with a label');
  }
}

function* lintPhoneState(prompt: unknown): Findings {
  if (prompt !== undefined && typeof prompt !== 'boolean')
    yield found(
      ['promptReceiverReadPhoneStatePermission'],
      'type',
      'INIT_CONFIG',
      'must be true or false',
    );
}

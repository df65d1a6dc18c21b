import { choice, notEmpty } from '../flags/value-parsers.js';
import { callingOptions } from './calling-system.js';
import type { OptionTable } from '../flags/option-table.js';

/** Flags of every command that plays a phone. */
export const phoneOptions = [
  'Phone:',
  ['--cuid <cuid>', 'whose phone it is', { parse: notEmpty, required: true }],
  [
    '--platform <platform>',
    'android or ios: whose rules and numbers of errors apply',
    { parse: choice('android', 'ios'), default: 'android' },
  ],
  [
    '--microphone <permission>',
    'granted or denied',
    { parse: choice('granted', 'denied'), default: 'granted' },
  ],
  ['--play <file.wav>', 'say this to the other side; both sides need --play or --record', notEmpty],
  ['--record <file.wav>', 'keep what the other side says', notEmpty],
  ...callingOptions,
] as const satisfies OptionTable;

import type { Platform } from '../../calling/calling.js';
import type { OptionTable } from '../option-table.js';
import { choice, notEmpty } from '../option-values.js';
import { callingOptions, type CallingFlags } from './open-calling.js';

/** Flags of every command that plays a phone. */
export interface PhoneFlags extends CallingFlags {
  readonly cuid: string;
  readonly platform: Platform;
  readonly microphone: 'granted' | 'denied';
}

export const phoneOptions: OptionTable = [
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
  ...callingOptions,
];

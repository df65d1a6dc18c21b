import type { CommandSpec } from '../command-spec.js';
import { choice, duration, notEmpty } from '../option-values.js';
import type { LintFlags } from './lint-init.js';
import type { ListenFlags } from './listen.js';
import { phoneOptions } from './phone-flags.js';
import type { PlaceFlags } from './place-call.js';

const lint: CommandSpec<LintFlags> = {
  summary: 'what is wrong with the configuration of an app that calls',
  description:
    'Checks a JSON file with the initProperties of an app, and sends nothing. Every finding is a line on stdout: JSON\n' +
    'pointer, rule, severity, and what initialize would answer; exit code 3 when there are errors.',
  operands: [['<file.json>', 'the object that the app gives to initialize']],
  examples: `
    # on both platforms
    engagectl call lint init.json
    # in CI, for one of them
    engagectl call lint init.json --platform android --json
  `,
  options: [
    'Options:',
    [
      '--platform <platform>',
      'android, ios or both',
      { parse: choice('android', 'ios', 'both'), default: 'both' },
    ],
  ],
  run: async (call) => (await import('./lint-init.js')).runLint(call),
};

const listen: CommandSpec<ListenFlags> = {
  summary: 'take calls: a phone that answers by itself',
  description:
    'Waits for calls. What is told of them goes to stdout as NDJSON, an event a line. Ctrl-C hangs up and leaves.',
  examples: `
    # in one terminal; in another: engagectl call place --cuid bob_1 --to ann_1 --context hello --region local
    engagectl call listen --cuid ann_1 --region local
    # the next call alone, which it declines
    engagectl call listen --cuid ann_1 --answer decline --once --region local
  `,
  options: [
    'Options:',
    [
      '--answer <how>',
      'auto, decline, ignore or prompt',
      { parse: choice('auto', 'decline', 'ignore', 'prompt'), default: 'auto' },
    ],
    ['--answer-after <duration>', 'how long it rings before', duration],
    ['--hangup-after <duration>', 'end a call that has been in progress so long', duration],
    ['--once', 'end with the first call'],
    ['--notifications <state>', 'on or off', { parse: choice('on', 'off'), default: 'on' }],
    [
      '--missed-actions <file>',
      'JSON object of buttons of a missed call, identifier: label',
      notEmpty,
    ],
    ...phoneOptions,
  ],
  run: async (call) => (await import('./listen.js')).runListen(call),
};

const place: CommandSpec<PlaceFlags> = {
  summary: 'call somebody',
  description:
    'Places a call and follows it. What is told of it goes to stdout as NDJSON, an event a line. Exit code 0 when the\n' +
    'call was in progress and ended, 5 when the receiver could not be reached, 3 at any other end. Ctrl-C hangs up.',
  examples: `
    # in one terminal; in another: engagectl call listen --cuid ann_1 --region local
    engagectl call place --cuid bob_1 --to ann_1 --context hello --region local
    # five seconds of talking, or ten of ringing
    engagectl call place --cuid bob_1 --to ann_1 --context "Order 25" --hangup-after 5s --cancel-after 10s --region local
  `,
  options: [
    'Options:',
    ['--to <cuid>', 'whom to call', { parse: notEmpty, required: true }],
    [
      '--context <text>',
      'what the call is about, at most 64 characters',
      { parse: notEmpty, required: true },
    ],
    ['--cancel-after <duration>', 'cancel a call that nobody has answered for so long', duration],
    ['--hangup-after <duration>', 'end a call that has been in progress so long', duration],
    ...phoneOptions,
  ],
  run: async (call) => (await import('./place-call.js')).runPlace(call),
};

/** What people need who run calling for many users. */
export const command: CommandSpec = {
  summary: 'place, take and rehearse calls, and check the configuration of apps',
  examples: `
    # in one terminal
    engagectl call listen --cuid ann_1 --region local
    # in another
    engagectl call place --cuid bob_1 --to ann_1 --context hello --region local
    # what is wrong with an app's configuration
    engagectl call lint init.json
  `,
  subcommands: { listen, place, lint },
};

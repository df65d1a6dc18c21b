import { inputOptions } from '../flags/input-flags.js';
import { age, choice, duration, integer, notEmpty } from '../flags/value-parsers.js';
import { outputOptions } from '../flags/output-flags.js';
import { callingOptions, type CallingFlags } from './calling-system.js';
import { phoneOptions } from './phone-flags.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';
import type { LogFlags } from './log.js';
import type { RunFlags } from './run.js';

const lintOptions = [
  'Options:',
  [
    '--platform <platform>',
    'android, ios or both',
    { parse: choice('android', 'ios', 'both'), default: 'both' },
  ],
] as const satisfies OptionTable;
export type LintFlags = FlagsOf<typeof lintOptions>;

const lint: CommandSpec<LintFlags> = {
  needs: 'nothing',
  summary: 'what is wrong with the configuration of an app that calls',
  description:
    'Checks a JSON file with the initProperties of an app, and sends nothing. Every finding is a line on stdout: JSON ' +
    'pointer, rule, severity, and what initialize would answer; exit code 3 when there are errors.',
  operands: [['<file.json>', 'the object that the app gives to initialize']],
  examples: `
    # on both platforms
    engagectl call lint init.json
    # in CI, for one of them
    engagectl call lint init.json --platform android --json
  `,
  options: lintOptions,
  run: async (call) => (await import('./lint-init.js')).runLint(call),
};

const listenOptions = [
  'Options:',
  [
    '--answer <how>',
    'auto, decline, ignore or prompt',
    { parse: choice('auto', 'decline', 'ignore', 'prompt'), default: 'auto' },
  ],
  ['--answer-after <duration>', 'how long it rings before (default: not at all)', duration],
  ['--hangup-after <duration>', 'end a call that has been in progress so long', duration],
  ['--once', 'end with the first call'],
  ['--notifications <state>', 'on or off', { parse: choice('on', 'off'), default: 'on' }],
  [
    '--missed-actions <file>',
    'JSON object of buttons of a missed call, identifier: label',
    notEmpty,
  ],
  ...phoneOptions,
] as const satisfies OptionTable;
export type ListenFlags = FlagsOf<typeof listenOptions>;

const listen: CommandSpec<ListenFlags> = {
  summary: 'take calls: a phone that answers by itself',
  description:
    'Waits for calls. What is told of them goes to stdout as NDJSON, an event a line. Ctrl-C hangs up and leaves.',
  examples: `
    # in one terminal; in another one, "call place" calls it
    engagectl call listen --cuid ann_1 --region local
    # the next call alone, which it declines
    engagectl call listen --cuid ann_1 --answer decline --once --region local
  `,
  options: listenOptions,
  run: async (call) => (await import('./listen.js')).runListen(call),
};

const placeOptions = [
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
] as const satisfies OptionTable;
export type PlaceFlags = FlagsOf<typeof placeOptions>;

const place: CommandSpec<PlaceFlags> = {
  summary: 'call somebody',
  description:
    'Places a call and follows it. What is told of it goes to stdout as NDJSON, an event a line. Exit code 0 when the ' +
    'call was in progress and ended, 5 when the receiver could not be reached, 3 at any other end. Ctrl-C hangs up.',
  examples: `
    # while "call listen --cuid ann_1" waits in another terminal
    engagectl call place --cuid bob_1 --to ann_1 --context hello --region local
    # five seconds of talking, or ten of ringing
    engagectl call place --cuid bob_1 --to ann_1 --context "Order 25" --hangup-after 5s --cancel-after 10s --region local
  `,
  options: placeOptions,
  run: async (call) => (await import('./place.js')).runPlace(call),
};

const run: CommandSpec<RunFlags> = {
  summary: 'make the calls of a script, and compare how they end',
  description:
    'Makes a call for each row, both phones in this process: an acceptance test of an environment. Columns: caller, ' +
    'callee, context; if need be callee_does (answer, decline, ignore, no-microphone, notifications-off, absent), ' +
    'expect (the last event, or the name of an error), answer_after, hangup_after, cancel_after. An outcome a line on ' +
    'stdout; exit code 3 when a call did not go as expected.',
  operands: [['[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz; - reads stdin']],
  examples: `
    # every call of a script, against the local router
    engagectl call run calls.csv --region local
    # in CI: one summary object, twenty calls at once
    engagectl call run calls.csv --concurrency 20 --json --region local
  `,
  options: [
    'Options:',
    [
      '--concurrency <n>',
      'most calls at once',
      { parse: integer({ min: 1, max: 200 }), default: 10 },
    ],
    [
      '--rejects <file>',
      'where rows go that did not go as expected (default: beside the first input)',
    ],
    ...callingOptions,
    ...inputOptions,
  ],
  run: async (call) => (await import('./run.js')).runScript(call),
};

const records = () => import('./log.js');

const sinceOption = [
  '--since <age>',
  'only those placed since then, like 12h or 30d',
  age,
] as const;

const log: CommandSpec<LogFlags> = {
  summary: 'calls as the calling system keeps them',
  examples: `
    # all of them, oldest first
    engagectl call log --region local
    # those of the last day, for a spreadsheet
    engagectl call log --since 1d --format csv -o calls.csv --overwrite --region local
  `,
  options: ['Options:', sinceOption, ...callingOptions, ...outputOptions()],
  run: async (call) => (await records()).runLog(call),
};

const missed: CommandSpec = {
  summary: 'missed calls whose notification has buttons, and clicks on them',
  examples: `
    # which there are
    engagectl call missed list
    # what the receiver would do on the phone
    engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later
  `,
  subcommands: {
    list: {
      summary: 'missed calls and the actions of their notification',
      examples: `
        # all of them
        engagectl call missed list --region local
        # of the last hour
        engagectl call missed list --since 1h
      `,
      options: ['Options:', sinceOption, ...callingOptions],
      run: async (call: Call<CallingFlags>) => (await records()).listMissed(call),
    },
    click: {
      summary: 'click a button of a missed call, as the receiver would',
      operands: [
        ['<callId>', 'the missed call'],
        ['<actionId>', 'identifier of the action'],
      ],
      examples: `
        # what the receiver would do on the phone
        engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later
        # of another region
        engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later --region us1
      `,
      options: [...callingOptions],
      run: async (call: Call<CallingFlags>) => (await records()).click(call),
    },
  },
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
  subcommands: { listen, place, run, missed, log, lint },
};

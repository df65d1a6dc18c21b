import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Variants } from '../../src/service/start.js';
import type { Outcome, World } from '../support/test-environment.js';

/** Something that a user sees, and that does not depend on how the service spells its answers. */
export interface Behaviour {
  readonly title: string;
  readonly argv: readonly string[];
  readonly stdin?: string | undefined;
  readonly code: number;
  /** Files of `fixtures/answers/`, each of which must lead to this. */
  readonly recordings: readonly string[];
  /** How the local service comes to this; undefined where it never answers so. */
  readonly local?: {
    readonly variants?: readonly Partial<Variants>[];
    readonly pendingPolls?: number;
    readonly failRate?: number;
    /** Sent with the right account and another passcode. */
    readonly wrongPasscode?: true;
    /** Command lines with their standard input that come before. */
    readonly before?: readonly (readonly [argv: readonly string[], stdin: string])[];
  };
  readonly see?: (outcome: Outcome, world: World) => void;
}

const lines = (...records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');
const summary = ({ stdout }: Outcome): unknown => JSON.parse(stdout);
const rejects = (world: World, command: string): unknown[] =>
  readFileSync(world.path(`engagectl-${command}.rejects.ndjson`), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const ndjson = ['--input-format', 'ndjson'];
const everyWire: readonly Partial<Variants>[] = [
  {},
  { whitespace: 'spaced', status: 'last', nextCursor: 'before' },
  { connection: 'close', echo: 'changed' },
];

const profiles = lines(
  { identity: 'a', Email: 'a@example.test' },
  { identity: 'b', Email: 'b@example.test' },
  { identity: 'c', Email: 'c@example.test' },
);
const unfitProfile = lines(
  { identity: 'a', Email: 'a@example.test' },
  { identity: 'b', Email: 'not an address', Phone: '+447700900123' },
  { identity: 'c', Email: 'c@example.test' },
);
const unfitProfiles = lines(
  { identity: 'a', Email: 'one' },
  { identity: 'b', Email: 'two' },
  { identity: 'c', Email: 'three' },
);
const charges = lines(
  { identity: 'a', type: 'event', evtName: 'Charged', evtData: { Amount: 1387 }, ts: 1790841600 },
  { identity: 'b', type: 'event', evtName: 'Charged', evtData: { Amount: 2 }, ts: 1790845200 },
  { identity: 'a', type: 'event', evtName: 'Charged', evtData: { Amount: 3 }, ts: 1790928000 },
);
const subscriptions = lines(
  { type: 'email', value: 'a@example.test', status: 'Unsubscribe' },
  { type: 'phone', value: '+447700900123', status: 'Unsubscribe' },
  { type: 'WhatsApp', value: '+447700900123', status: 'Resubscribe' },
);
const unfitSubscription = lines(
  { type: 'email', value: 'a@example.test', status: 'Unsubscribe' },
  { type: 'phone', value: '07700900123', status: 'Unsubscribe' },
  { type: 'whatsapp', value: '+447700900123', status: 'Resubscribe' },
);
const recordedPages = [
  'events-pages',
  'events-pages-pending',
  'events-pages-previous-cursor',
  'events-pages-empty-last',
];
const chargedInOctober = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-02'];

const writes: readonly Behaviour[] = [
  {
    title: 'upload: every record is taken',
    argv: ['upload', ...ndjson, '--json'],
    stdin: profiles,
    code: 0,
    recordings: [
      'upload-success',
      'upload-success-spaced',
      'upload-success-status-last',
      'upload-success-without-list',
      'upload-429-then-success',
      'upload-503-then-success',
      'upload-200-with-code-500-then-success',
      'upload-html-then-success',
      'upload-empty-then-success',
      'upload-400-then-success',
      'upload-555-then-success',
    ],
    local: { variants: everyWire },
    see: (outcome) =>
      expect(summary(outcome)).toMatchObject({ read: 3, accepted: 3, rejected: 0, exitCode: 0 }),
  },
  {
    title: 'upload: one record is refused and found again in the input',
    argv: ['upload', ...ndjson, '--json'],
    stdin: unfitProfile,
    code: 3,
    recordings: ['upload-partial', 'upload-partial-echo-changed', 'upload-partial-without-number'],
    local: { variants: everyWire },
    see: (outcome, world) => {
      expect(summary(outcome)).toMatchObject({ read: 3, accepted: 2, rejected: 1, exitCode: 3 });
      expect(rejects(world, 'upload')).toMatchObject([
        { line: 2, stage: 'service', code: 515, record: { identity: 'b' } },
      ]);
    },
  },
  {
    title: 'upload: every record is refused',
    argv: ['upload', ...ndjson, '--json'],
    stdin: unfitProfiles,
    code: 3,
    recordings: ['upload-fail', 'upload-fail-unlisted'],
    local: { variants: everyWire },
    see: (outcome, world) => {
      expect(summary(outcome)).toMatchObject({ read: 3, accepted: 0, rejected: 3 });
      expect(rejects(world, 'upload')).toHaveLength(3);
    },
  },
  {
    title: 'subscribe: every record is taken',
    argv: ['subscribe', ...ndjson, '--json'],
    stdin: subscriptions,
    code: 0,
    recordings: ['subscribe-success'],
    local: { variants: everyWire },
    see: (outcome) => expect(summary(outcome)).toMatchObject({ read: 3, accepted: 3 }),
  },
  {
    title: 'subscribe --dry-run: the service is asked with dryRun=1',
    argv: ['subscribe', ...ndjson, '--dry-run', '--json'],
    stdin: subscriptions,
    code: 0,
    recordings: ['subscribe-dry-run'],
    local: { variants: everyWire },
    see: (outcome) => expect(summary(outcome)).toMatchObject({ read: 3, accepted: 3 }),
  },
  {
    title: 'subscribe: a phone number that the service refuses',
    argv: ['subscribe', ...ndjson, '--json'],
    stdin: unfitSubscription,
    code: 3,
    recordings: ['subscribe-partial'],
    local: { variants: everyWire },
    see: (outcome, world) => {
      expect(summary(outcome)).toMatchObject({ read: 3, accepted: 2, rejected: 1 });
      expect(rejects(world, 'subscribe')).toMatchObject([{ line: 2, stage: 'service', code: 516 }]);
    },
  },
  {
    title: 'demerge: success means accepted',
    argv: ['demerge', '--input-format', 'list', '--yes', '--json'],
    stdin: 'a\nb\na\n',
    code: 0,
    recordings: ['demerge-success', 'demerge-success-spaced'],
    local: { variants: everyWire, before: [[['upload', ...ndjson], profiles]] },
    see: (outcome) =>
      expect(summary(outcome)).toMatchObject({ read: 3, accepted: 2, duplicates: 1 }),
  },
];

const reads: readonly Behaviour[] = [
  {
    title: 'get-profile --reachability: a profile and what its flags say',
    argv: ['get-profile', 'a', '--reachability'],
    code: 0,
    recordings: ['profile-found', 'profile-found-status-last'],
    local: {
      variants: everyWire,
      before: [
        [
          ['upload', ...ndjson],
          lines({
            identity: 'a',
            Email: 'a@example.test',
            Phone: '+447700900123',
            'MSG-sms': true,
            'MSG-email': false,
          }),
        ],
        [['subscribe', ...ndjson], subscriptions],
      ],
    },
    see: ({ stdout }) =>
      expect(JSON.parse(stdout)).toMatchObject({
        identity: 'a',
        email: 'a@example.test',
        reachability: { sms: 'unreachable', email: 'unreachable' },
      }),
  },
  {
    title: 'get-profile: no such user',
    argv: ['get-profile', '--email', 'nobody@example.test'],
    code: 3,
    recordings: ['profile-missing', 'profile-missing-null', 'profile-missing-fail', 'refused-404'],
    local: { variants: everyWire },
    see: ({ stdout, stderr }) => {
      expect(stdout).toBe('');
      expect(stderr).toContain('nobody@example.test');
    },
  },
  {
    title: 'export-events: all pages, in order',
    argv: ['export-events', ...chargedInOctober, '--no-split'],
    code: 0,
    recordings: recordedPages,
    local: {
      variants: everyWire,
      pendingPolls: 2,
      before: [[['upload', ...ndjson], charges]],
    },
    see: ({ stdout }) => {
      const events = stdout.trimEnd().split('\n');
      const amounts = events.map(
        (event) => (JSON.parse(event) as { event_props: { Amount: number } }).event_props.Amount,
      );
      expect(amounts).toEqual([1387, 2, 3]);
    },
  },
  {
    title: 'export-events: NDJSON holds each record byte for byte',
    argv: ['export-events', ...chargedInOctober, '--no-split'],
    code: 0,
    recordings: recordedPages,
    see: ({ stdout }) =>
      expect(stdout.split('\n')).toEqual([
        '{"profile":{"identity":"a"},"ts":20261001080000,"event_props":{"Amount":1387.00,"Order":12345678901234567890}}',
        String.raw`{"profile":{"identity":"b"},"ts":20261001090000,"event_props":{"Amount":2,"Note":"a \"brace\" } and \u00e9"}}`,
        '{"profile":{"identity":"a"},"ts":20261002080000,"event_props":{"Amount":3}}',
        '',
      ]),
  },
  {
    title: 'export-events: a range without records',
    argv: ['export-events', ...chargedInOctober, '--no-split'],
    code: 0,
    recordings: ['events-none', 'events-none-empty-list'],
    local: {
      variants: everyWire,
      before: [[['upload', ...ndjson], charges.replaceAll('"ts":1790', '"ts":1780')]],
    },
    see: ({ stdout }) => expect(stdout).toBe(''),
  },
  {
    title: 'export-profiles: the users who did the event',
    argv: ['export-profiles', ...chargedInOctober],
    code: 0,
    recordings: ['profiles-pages'],
    local: {
      variants: everyWire,
      pendingPolls: 1,
      before: [[['upload', ...ndjson], charges]],
    },
    see: ({ stdout }) => {
      const users = stdout.trimEnd().split('\n');
      const identities = users.map((user) => (JSON.parse(user) as { identity: string }).identity);
      expect(identities.sort()).toEqual(['a', 'b']);
    },
  },
  {
    title: 'export-profiles: a cursor that is refused, or does not advance, is never an end',
    argv: ['export-profiles', ...chargedInOctober],
    code: 7,
    recordings: [
      'profiles-cursor-code-3',
      'profiles-cursor-text',
      'profiles-cursor-string-code',
      'profiles-cursor-repeats',
    ],
  },
  {
    title: 'export-events: an event that the service does not know',
    argv: ['export-events', ...chargedInOctober, '--no-split'],
    code: 2,
    recordings: ['events-invalid-event'],
    see: ({ stderr }) => {
      expect(stderr).toContain('Invalid event : Charged');
      expect(stderr).toContain('names are case-sensitive');
    },
  },
];

const commandLines: readonly Pick<Behaviour, 'argv' | 'stdin'>[] = [
  { argv: ['upload', ...ndjson], stdin: profiles },
  { argv: ['subscribe', ...ndjson], stdin: subscriptions },
  { argv: ['demerge', '--input-format', 'list', '--yes'], stdin: 'a\n' },
  { argv: ['get-profile', 'a'] },
  { argv: ['export-profiles', ...chargedInOctober] },
  { argv: ['export-events', ...chargedInOctober] },
];

/** What must happen whichever command meets it. */
const refusals: readonly Behaviour[] = commandLines.flatMap((line): Behaviour[] => [
  {
    ...line,
    title: `${line.argv[0] ?? ''}: refused credentials`,
    code: 4,
    recordings: ['refused-401', 'refused-401-under-200', 'refused-401-error-array', 'refused-403'],
    local: { wrongPasscode: true },
  },
  {
    ...line,
    title: `${line.argv[0] ?? ''}: a redirect, or a refusal that nobody expects`,
    code: 7,
    recordings: [
      'redirect',
      'refused-405-under-200',
      ...(line.argv[0] === 'get-profile' ? [] : ['refused-404']),
    ],
  },
]);

const idempotentLines = commandLines.filter(({ argv }) => argv[0] !== 'demerge');
const outages = idempotentLines.flatMap(({ argv, stdin }): Behaviour[] => [
  {
    argv: [...argv, '--max-attempts', '2'],
    stdin,
    title: `${argv[0] ?? ''}: a service that does not come back`,
    code: 5,
    recordings: ['unavailable'],
    local: { failRate: 1 },
  },
  {
    argv: [...argv, '--max-attempts', '2'],
    stdin,
    title: `${argv[0] ?? ''}: a body that is no answer, every time`,
    code: 7,
    recordings: ['unavailable-html'],
  },
]);

export const behaviours: readonly Behaviour[] = [...writes, ...reads, ...refusals, ...outages];

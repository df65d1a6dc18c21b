import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  transition,
  initialTransition,
  type CallState,
  type Trigger,
} from '../../src/service/calls/call-state.js';
import { errorTable } from '../../src/calling/errors.js';
import { declineCodes } from '../../src/calling/protocol.js';
import { tableBelow } from '../support/markdown-table.js';

// The tables of docs/calling.md say what the code does.

const page = readFileSync(new URL('../../docs/calling.md', import.meta.url), 'utf8');

it('documents each error with its description and numbers', () => {
  const cell = (number: (typeof errorTable)[keyof typeof errorTable]['android' | 'ios']) => {
    if (typeof number === 'string') return '–';
    return typeof number === 'number' ? String(number) : Object.values(number).join(' or ');
  };
  const rows = Object.entries(errorTable).map(([name, { description, android, ios }]) => [
    name,
    description,
    cell(android),
    cell(ios),
  ]);
  expect(tableBelow(page, 'Errors')).toEqual(rows);
});

const placed = initialTransition.state;
const answered: CallState = { phase: 'answered', ready: [] };
const decline = (reasonCode: Extract<Trigger, { type: 'decline' }>['reasonCode']): Trigger => ({
  type: 'decline',
  ...(reasonCode === undefined ? {} : { reasonCode }),
});

/** What each row of the table is in the words of the reducer. */
const rows: [from: CallState, what: string, trigger: Trigger][] = [
  [placed, 'receiver has another call', { type: 'busy' }],
  [placed, 'receiver is on the telephone', decline(declineCodes.busyOnPstn)],
  [placed, "receiver's cuid is logged out", { type: 'loggedOut' }],
  [placed, 'notifications are off', decline(declineCodes.notificationsDisabled)],
  [placed, 'microphone refused on answer', decline(declineCodes.microphoneNotGranted)],
  [placed, 'receiver declines', decline(undefined)],
  [placed, 'receiver hangs up or logs out', { type: 'hangup', by: 'receiver' }],
  [placed, 'initiator hangs up or logs out', { type: 'hangup', by: 'initiator' }],
  [placed, 'no answer in 30 s', { type: 'unanswered' }],
  [placed, 'initiator is gone', { type: 'gone', by: 'initiator' }],
  [placed, 'receiver answers', { type: 'answer' }],
  [
    { ...answered, ready: ['receiver'] },
    'voice connects on both sides',
    { type: 'ready', by: 'initiator' },
  ],
  [answered, 'no voice in 10 s', { type: 'unconnected' }],
  [answered, 'a side hangs up or logs out', { type: 'hangup', by: 'receiver' }],
  [answered, 'one side is gone', { type: 'gone', by: 'initiator' }],
  [answered, 'the router restarts', { type: 'restart' }],
  [
    { phase: 'inProgress', ready: [] },
    'a side hangs up or logs out',
    { type: 'hangup', by: 'initiator' },
  ],
  [{ phase: 'inProgress', ready: [] }, 'one side is gone', { type: 'gone', by: 'receiver' }],
  [{ phase: 'inProgress', ready: [] }, 'the router restarts', { type: 'restart' }],
];

it('documents each transition of a call', () => {
  const words = { placed: 'placed', answered: 'answered', inProgress: 'in progress', over: 'over' };
  const expected = rows.map(([from, what, trigger]) => {
    const next = transition(from, trigger);
    return [
      words[from.phase],
      what,
      words[next!.state.phase],
      next?.initiator ?? '–',
      next?.receiver ?? '–',
    ];
  });
  expect(tableBelow(page, 'States of a call')).toEqual([
    ['–', 'the router accepts the call', 'placed', initialTransition.initiator, 'it rings'],
    ...expected,
  ]);
});

it('says of each of the 103 statements of the specification what holds, and which test shows it', () => {
  const rows = tableBelow(page, 'Appendix: statements of the specification');
  expect(rows).toHaveLength(103);
  expect(new Set(rows.map(([statement]) => statement)).size).toBe(rows.length);
  const differences = tableBelow(page, 'Differences from the specification');
  expect(
    differences.every((cells) => cells.length === 3 && cells.every((cell) => cell !== '')),
  ).toBe(true);
  const wrong = rows.filter(([, here = '', test = '']) =>
    here === 'native part outside'
      ? test !== '–'
      : !/^(holds|differs: .{10,})$/.test(here) ||
        !existsSync(new URL(`../${test}`, import.meta.url)),
  );
  expect(wrong).toEqual([]);
});

import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { writeWav } from '../../../src/calling/node/wav.js';
import { hasWrtc } from '../../support/processes/speaking-phone.js';
import { callingWorld } from '../../support/processes/call-process.js';

// `call run`: the calls of a script, both ends in one process; each row has one outcome, and an end that was
// not expected is a reject.

const header = 'caller,callee,context,callee_does,expect,answer_after,hangup_after,cancel_after';

const script = (...rows: string[]) => `${[header, ...rows].join('\n')}\n`;

it('calls every receiver, with every outcome', async () => {
  const { world, run } = await callingWorld({ ringing: 1500 });
  const rows = [
    'bob_1,ann_1,Order 1,,,,,',
    'bob_2,ann_2,Order 2,answer,Ended,20ms,20ms,',
    'bob_3,ann_3,Order 3,decline,,,,',
    'bob_4,ann_4,Order 4,ignore,,,,',
    'bob_5,ann_5,Order 5,ignore,,,,50ms',
    'bob_6,ann_6,Order 6,no-microphone,,,,',
    'bob_7,ann_7,Order 7,notifications-off,,,,',
    'bob_8,ann_8,Order 8,absent,,,,',
    'bob_9,bob_9,Order 9,,SELF_CALL,,,',
  ];
  writeFileSync(world.path('calls.csv'), script(...rows));
  const running = run(['run', 'calls.csv']);
  expect(await running.ended(), running.stderr).toBe(0);
  const ended = Object.fromEntries(running.lines.map(({ line, ending }) => [line, ending]));
  expect(ended).toEqual({
    2: 'Ended',
    3: 'Ended',
    4: 'Declined',
    5: 'Missed',
    6: 'Cancelled',
    7: 'DeclinedDueToMicrophonePermissionsNotGranted',
    8: 'DeclinedDueToNotificationsDisabled',
    9: 'NOT_REACHABLE',
    10: 'SELF_CALL',
  });
  expect(running.lines.every(({ outcome }) => outcome === 'accepted')).toBe(true);
});

it('rejects rows with an unexpected outcome, reports invalid ones, and counts all', async () => {
  const { world, run } = await callingWorld();
  const rows = [
    'bob_1,ann_1,Order 1,decline,Ended,,,',
    'b-1,ann_1,,nap,,soon,,',
    'bob_1,ann_1,Order 2,,,,,',
    'too,few',
  ];
  writeFileSync(world.path('calls.csv'), script(...rows));
  const running = run(['run', 'calls.csv', '--json']);
  expect(await running.ended()).toBe(3);
  expect(running.lines).toMatchObject([
    { command: 'call run', read: 4, accepted: 1, rejected: 3, exitCode: 3 },
  ]);
  const file = readFileSync(world.path('calls.csv.rejects.ndjson'), 'utf8').trimEnd();
  const rejects = file.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  const byLine = new Map(rejects.map((reject) => [reject['line'], reject]));
  expect(byLine.get(2)).toMatchObject({
    stage: 'service',
    error: 'it ended with Declined, not Ended',
    record: { caller: 'bob_1', expect: 'Ended' },
  });
  for (const fault of ['"caller"', '"context"', '"callee_does"', '"answer_after"']) {
    expect(byLine.get(3)?.['error']).toContain(fault);
  }
  expect(byLine.get(5)?.['stage']).toBe('parse');
});

it('writes a JUnit report with a test case for each row, also with --json', async () => {
  const { world, run } = await callingWorld();
  const rows = ['bob_1,ann_1,Order 1,decline,Ended,,,', 'bob_2,ann_2,Order 2,,,,20ms,', 'too,few'];
  writeFileSync(world.path('calls <1>\ufffe.csv'), script(...rows));
  writeFileSync(world.path('calls.xml'), 'an earlier report');
  const running = run(['run', 'calls <1>\ufffe.csv', '--json', '--junit', 'calls.xml']);
  expect(await running.ended(), running.stderr).toBe(3);
  expect(running.lines).toHaveLength(1);
  const report = readFileSync(world.path('calls.xml'), 'utf8');
  expect(report).toMatch(
    /^<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuite name="engagectl call run" tests="3" failures="2" errors="0">\n/,
  );
  expect(
    [
      ...report.matchAll(
        /<testcase classname="([^"]*)" name="([^"]*)" time="[\d.]+">(.*)<\/testcase>/g,
      ),
    ].map(([, ...parts]) => parts),
  ).toEqual([
    [
      'calls &lt;1&gt;\ufffd.csv',
      'line 2: bob_1 calls ann_1',
      '<failure message="it ended with Declined, not Ended"/>',
    ],
    ['calls &lt;1&gt;\ufffd.csv', 'line 3: bob_2 calls ann_2', ''],
    ['calls &lt;1&gt;\ufffd.csv', 'line 4', expect.stringMatching(/^<failure message=".+"\/>$/)],
  ]);
  const refused = run(['run', 'calls <1>\ufffe.csv', '--junit', 'nowhere/calls.xml']);
  expect(await refused.ended()).toBe(9);
  expect(refused.stderr).toContain('--junit');
});

/** Resolves when the call to a cuid is in progress. */
async function inProgress(env: Readonly<Record<string, string>>, to: string) {
  const answer = await fetch(`${env['ENGAGECTL_BASE_URL']}/_local/calls/wait`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-Service-Account-Id': env['ENGAGECTL_ACCOUNT_ID']!,
      'X-Service-Passcode': env['ENGAGECTL_PASSCODE']!,
    },
    body: JSON.stringify({ to, event: 'CallInProgress' }),
  });
  expect(answer.status).toBe(200);
}

it('does not accept a call that a signal hung up, and reports a script that stopped', async () => {
  const { world, run, env } = await callingWorld();
  const rows = ['bob_1,ann_1,Order 1,,,,1m,', 'bob_2,ann_2,Order 2,,,,1m,'];
  writeFileSync(world.path('calls.csv'), script(...rows));
  const running = run(['run', 'calls.csv', '--junit', 'calls.xml']);
  await Promise.all([inProgress(env, 'ann_1'), inProgress(env, 'ann_2')]);
  running.signal('SIGTERM');
  expect(await running.ended()).toBe(143);
  expect(running.lines).toEqual([]);
  const report = readFileSync(world.path('calls.xml'), 'utf8');
  expect(report).toContain('tests="1" failures="0" errors="1"');
  expect(report).toContain('<error message="E-TERMINATED: ');
  const broken = `${script('bob_1,ann_1,Order 1,,,,20ms,')}bob_2,"ann_2,Order 2`;
  writeFileSync(world.path('calls.csv'), broken);
  const halfway = run(['run', 'calls.csv', '--junit', 'calls.xml']);
  expect(await halfway.ended()).toBe(8);
  expect(readFileSync(world.path('calls.xml'), 'utf8')).toContain(
    'tests="2" failures="0" errors="1"',
  );
});

it('is not confused by the end of a call of an earlier run that was killed', async () => {
  const { world, run, env } = await callingWorld();
  writeFileSync(world.path('long.csv'), script('bob_1,ann_1,Order 1,,,,1m,'));
  writeFileSync(world.path('calls.csv'), script('bob_1,ann_1,Order 1,,,,20ms,'));
  const killed = run(['run', 'long.csv']);
  await inProgress(env, 'ann_1');
  killed.signal('SIGKILL');
  await killed.ended();
  const next = run(['run', 'calls.csv']);
  expect(await next.ended(), next.stdout).toBe(0);
});

it('an external callee is an app of its own, in another process', async () => {
  const { world, run, listen } = await callingWorld();
  const app = await listen('ann_1');
  const busy = await listen('ann_2', '--answer', 'decline');
  const rows = [
    'bob_1,ann_1,Order 1,external,,,20ms,',
    'bob_2,ann_2,Order 2,external,Declined,,,',
    'bob_3,ann_2,Order 3,external,,,,',
    'bob_4,ann_9,Order 4,external,NOT_REACHABLE,,,',
  ];
  writeFileSync(world.path('calls.csv'), script(...rows));
  const running = run(['run', 'calls.csv']);
  expect(await running.ended()).toBe(3);
  const byLine = running.lines.toSorted((a, b) => Number(a['line']) - Number(b['line']));
  expect(byLine.map(({ line, outcome, ending }) => [line, outcome, ending])).toEqual([
    [2, 'accepted', 'Ended'],
    [3, 'accepted', 'Declined'],
    [4, 'rejected', 'Declined'],
    [5, 'accepted', 'NOT_REACHABLE'],
  ]);
  await app.says('Ended');
  await busy.says('Declined');
});

it.skipIf(!hasWrtc)('a row with voice asserts the tone that each side hears', async () => {
  const { world, run, listen } = await callingWorld();
  const samples = Int16Array.from(
    { length: 48_000 * 20 },
    (_, at) => 8000 * Math.sin((2 * Math.PI * 523 * at) / 48_000),
  );
  writeFileSync(world.path('tone.wav'), writeWav({ rate: 48_000, samples }));
  await listen('ann_2', '--play', 'tone.wav');
  const rows = [
    { caller: 'bob_1', callee: 'ann_1', voice: '440' },
    { caller: 'bob_2', callee: 'ann_2', voice: '520', callee_does: 'external' },
    { caller: 'bob_3', callee: 'ann_2', voice: '600', callee_does: 'external' },
    { caller: 'bob_4', callee: 'ann_4', voice: '440', callee_does: 'decline' },
    { caller: 'bob_5', callee: 'ann_5', voice: 'loud' },
  ].map((row) => ({ ...row, context: 'tone' }));
  writeFileSync(world.path('calls.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const running = run(['run', 'calls.ndjson', '--concurrency', '1']);
  expect(await running.ended(), running.stderr).toBe(3);
  const byLine = running.lines.toSorted((a, b) => Number(a['line']) - Number(b['line']));
  expect(byLine.map(({ outcome, error }) => [outcome, error])).toEqual([
    ['accepted', undefined],
    ['accepted', undefined],
    ['rejected', expect.stringMatching(/^the caller heard a tone of 52\d Hz, not 600 Hz$/)],
    ['rejected', 'column "voice": a call that ends with Declined has no voice'],
    ['rejected', 'column "voice": "loud" is not a tone of 100 to 3000 Hz'],
  ]);
});

it('makes calls of one cuid in turn, while those of others continue', async () => {
  const { world, run } = await callingWorld();
  const rows = Array.from({ length: 24 }, (_, n) => ({
    caller: `bob_${n % 6}`,
    callee: `ann_${n % 4}`,
    context: `Order ${n}`,
    hangup_after: '20ms',
  }));
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(world.path('calls.ndjson'), text);
  const running = run(['run', 'calls.ndjson', '--concurrency', '20']);
  expect(await running.ended(), running.stderr).toBe(0);
  expect(running.lines.map(({ ending }) => ending)).toEqual(rows.map(() => 'Ended'));
});

it('stops if no call can have the expected outcome, and says so', async () => {
  const { world, run } = await callingWorld();
  writeFileSync(world.path('calls.csv'), script('bob_1,ann_1,Order 1,,,,,', 'bob_2,ann_2,x,,,,,'));
  const running = run(['run', 'calls.csv'], { ENGAGECTL_CALL_API_KEY: 'wrong' });
  expect(await running.ended()).toBe(4);
  expect(running.stderr).toContain('AUTH_FAILURE');
});

it('hangs up on Ctrl-C, and starts no other call', async () => {
  const { world, run } = await callingWorld();
  const rows = Array.from({ length: 8 }, () => 'bob_1,ann_1,Order 1,,,,30s,');
  writeFileSync(world.path('calls.csv'), script(...rows));
  const running = run(['run', 'calls.csv', '--verbose']);
  await running.says('CallInProgress');
  running.signal('SIGINT');
  expect(await running.ended()).toBe(130);
  expect(running.lines).toEqual([]);
});

it('shows the buttons of a missed call, clicks one once, and reports it to the listener', async () => {
  const { world, env, run, listen, place } = await callingWorld({ ringing: 500 });
  writeFileSync(world.path('actions.json'), '{"later":"Call me later"}');
  const flags = ['--answer', 'ignore', '--missed-actions', 'actions.json'];
  const listener = await listen('ann_1', ...flags);
  await place('bob_1', 'ann_1').ended();
  await listener.says('Call me later (later)');
  const list = run(['missed', 'list']);
  expect(await list.ended(), list.stderr).toBe(0);
  expect(list.lines).toMatchObject([{ callerCuid: 'bob_1', actions: { later: 'Call me later' } }]);
  const callId = list.lines[0]?.callId ?? '';
  expect(await run(['missed', 'click', callId, 'never']).ended()).toBe(3);
  expect(await run(['missed', 'click', callId, 'later']).ended()).toBe(0);
  await listener.says('MissedCallActionClicked');
  expect(listener.lines.at(-1)).toMatchObject({ callId, actionId: 'later' });
  const again = run(['missed', 'click', callId, 'later']);
  expect(await again.ended()).toBe(3);
  expect(again.stderr).toContain('was already clicked');
  const log = run(['log', '--since', '1h']);
  expect(await log.ended()).toBe(0);
  expect(log.lines).toMatchObject([{ callId, status: 'missed', callContext: 'Order 25' }]);
  const csv = await world.run(['call', 'log', '--format', 'csv'], { env });
  expect(csv.stdout.split('\n')[0]).toContain('callId,callerCuid,calleeCuid');
  const summary = await world.run(['call', 'log', '--json', '-o', 'calls.ndjson'], { env });
  expect(JSON.parse(summary.stdout)).toMatchObject({ command: 'call log', records: 1 });
  const listed = await world.run(['call', 'missed', 'list', '--json'], { env });
  expect(JSON.parse(listed.stdout)).toMatchObject({ missed: [{ callId }] });
});

it.each([['log'], ['missed list'], ['missed click some-call later']])(
  'names the calling account if %s gets a wrong key',
  async (argv) => {
    const { world, env } = await callingWorld();
    const wrong = { ...env, ENGAGECTL_CALL_API_KEY: 'wrong-k3y' };
    const { code, stderr } = await world.run(['call', ...argv.split(' ')], { env: wrong });
    expect(code).toBe(4);
    expect(stderr).toContain('wrong account id or API key');
    expect(stderr).not.toMatch(/passcode|k3y/i);
  },
);

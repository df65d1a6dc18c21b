import { expect, it } from 'vitest';
import { isContext } from '../../src/calling/call-request.js';
import { isCuid } from '../../src/calling/cuid.js';
import { parseClientFrame, parseRouterFrame } from '../../src/calling/parse-frame.js';

const read = (frame: unknown) => parseClientFrame(JSON.stringify(frame));

it('keeps only the members of the protocol', () => {
  const frame = {
    t: 'call',
    id: 1,
    to: 'bob_1',
    context: 'hello there',
    initiatorImage: 'https://x.test/a.png',
  };
  expect(read({ ...frame, extra: 1 })).toEqual({ kind: 'frame', frame });
  expect(read({ t: 'seen', seq: 4 })).toEqual({
    kind: 'frame',
    frame: { t: 'seen', id: 0, seq: 4 },
  });
});

it.each([['{'], ['[]'], ['null'], ['"auth"'], ['12'], ['']])('reports %s as malformed', (text) => {
  expect(parseClientFrame(text)).toEqual({ kind: 'malformed' });
});

it.each([[{}], [{ t: 'video', id: 1 }], [{ t: 'constructor', id: 1 }], [{ t: 7 }]])(
  'ignores the type of %j',
  (frame) => {
    expect(read(frame)).toEqual({ kind: 'unknown' });
  },
);

const auth = {
  t: 'auth',
  id: 1,
  accountId: 'a',
  apiKey: 'k',
  cuid: 'ann_1',
  deviceId: 'd',
  platform: 'android',
  caps: {},
  missedCallActions: {},
};

it.each([
  [{ t: 'hangup' }, undefined, 'hangup: id'],
  [{ t: 'hangup', id: -1 }, undefined, 'hangup: id'],
  [{ t: 'hangup', id: 1.5 }, undefined, 'hangup: id'],
  [{ t: 'call', id: 3, context: 'x' }, 3, 'call: to must be a cuid'],
  [{ t: 'call', id: 3, to: '91_8899555', context: 'x' }, 3, 'call: to'],
  [{ t: 'call', id: 3, to: 'bob_1', context: 'x!' }, 3, 'call: context'],
  [
    { t: 'call', id: 3, to: 'bob_1', context: 'x', receiverImage: 'file:///etc' },
    3,
    'receiverImage',
  ],
  [{ t: 'decline', id: 4, callId: 'c', reasonCode: 1 }, 4, 'decline: reasonCode'],
  [{ t: 'sdp', id: 5, callId: 'c' }, 5, 'sdp: payload'],
  [{ t: 'seen', seq: '4' }, undefined, 'seen: seq'],
  [{ ...auth, platform: 'web' }, 1, 'auth: platform'],
  [{ ...auth, apiKey: '' }, 1, 'auth: apiKey'],
  [{ ...auth, proof: 7 }, 1, 'auth: proof'],
  [{ t: 'hello', id: 1 }, 1, 'hello: nonce'],
  [{ ...auth, cuid: 'a\u202Eb_cde' }, 1, 'auth: cuid'],
  [{ ...auth, caps: { notifications: 1 } }, 1, 'auth: caps'],
  [{ ...auth, missedCallActions: { a: '1', b: '2', c: '3', d: '4' } }, 1, 'missedCallActions'],
  [{ ...auth, missedCallActions: { a: '' } }, 1, 'missedCallActions'],
  [{ ...auth, lastSeq: null }, 1, 'auth: lastSeq'],
])('rejects %j', (frame, id, words) => {
  const found = read(frame);
  expect(found).toMatchObject({ kind: 'invalid', id });
  expect(found).toHaveProperty('message', expect.stringContaining(words));
});

it('never repeats the received text in its messages, because it may be a secret', () => {
  expect(JSON.stringify(read({ ...auth, apiKey: 'x'.repeat(2000) }))).not.toContain('xx');
});

it.each([
  ['org_25', true],
  ['91_88a', true],
  ['1_2_a', true],
  ['91_8899555', false],
  ['a-b_cde', false],
  ['usér1', false],
  ['_user1', false],
  ['abcd', false],
  ['a'.repeat(50), true],
  ['a'.repeat(51), false],
  ['abcde\n', false],
])('validates cuid %j: %s', (cuid, is) => {
  expect(isCuid(cuid)).toBe(is);
});

it.each([
  ['Order 25 is ready', true],
  ['x', true],
  ['', false],
  [' x', false],
  ['a  b', false],
  ['naïve', false],
  ['x'.repeat(65), false],
])('validates context %j: %s', (context, is) => {
  expect(isContext(context)).toBe(is);
});

it('ignores frames of later routers', () => {
  expect(parseRouterFrame('{"t":"over","seq":1,"callId":"c","reason":"busy"}')).toMatchObject({
    seq: 1,
  });
  for (const text of ['{"t":"video"}', '{', '[]', '{}'])
    expect(parseRouterFrame(text)).toBeUndefined();
});

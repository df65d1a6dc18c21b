import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EngagectlError } from '../../../src/errors.js';
import { main } from '../../../src/main.js';
import {
  pendingBody,
  recordsPage,
  startPageServer,
  type Opening,
} from '../../support/servers/page-server.js';
import { makeWorld, type WorldOptions } from '../../support/test-environment.js';

// Progress is shown by an interval: its time passes while a page is on its way.

const days = ['--event', 'A', '--from', '2024-01-01', '--to', '2024-01-03'];

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

/** Runs an export whose last page does not end before `isShown`. Returns stderr. */
async function shown(
  isShown: (stderr: string) => boolean,
  options: WorldOptions = {},
  more: readonly string[] = [],
) {
  const daily = ({ from }: Opening) => {
    const last = { body: `{"status":"success","records":[{"late":1}]}`, until: passTime };
    return from === 20240103
      ? [recordsPage('{"a":1}', '{"b":2}'), () => last]
      : [recordsPage('{}')];
  };
  await using server = await startPageServer(daily);
  const runtime = makeWorld({ env: server.env, ...options }).runtime();
  const passTime = () => {
    vi.advanceTimersByTime(10_000);
    return isShown(runtime.output().stderr);
  };
  expect(await main(['export-events', ...days, ...more], runtime)).toBe(0);
  return runtime.output().stderr;
}

it('prints the finished slices and the received bytes in a plain line', async () => {
  const line = /^export-events: 2 of 3 slices, 4 records, (\d+\/s, )?\d+ B, 1 in flight(, \d+s)?$/m;
  expect(await shown((stderr) => line.test(stderr))).toMatch(line);
});

it('prints the same on a terminal, in one line', async () => {
  const frame = /\S export-events: 2 of 3 slices, 4 records, (\d+\/s, )?\d+ B, 1 in flight/;
  const options = { tty: { stderr: true }, columns: 120 };
  const file = ['-o', 'events.ndjson'];
  const stderr = await shown((text) => frame.test(text), options, file);
  expect(stderr).toMatch(frame);
  expect(stderr.split('\n').filter((line) => line.includes(' slices, '))).toHaveLength(1);
});

it.each([false, true])(
  'reports a pending slice: how long, how many requests, when next; terminal: %s',
  async (tty) => {
    const stop = new AbortController();
    await using server = await startPageServer(() => [() => pendingBody]);
    const world = makeWorld({ env: server.env, tty: { stderr: tty }, columns: 120 });
    const runtime = world.runtime({ signal: stop.signal });
    const wanted = /export-profiles: (\d+s, )?pending for 5 s, asked 3 times, next in 4\.5 s/;
    const told = async () => {
      while (!wanted.test(runtime.output().stderr)) {
        vi.advanceTimersByTime(10_000);
        await new Promise(setImmediate);
      }
      stop.abort(new EngagectlError('E-INTERRUPTED', 'enough'));
    };
    let sleeps = 0;
    const sleep: typeof runtime.sleep = async (_ms, signal) => {
      sleeps += 1;
      if (sleeps === 3) await told();
      signal?.throwIfAborted();
    };
    expect(await main(['export-profiles', ...days], { ...runtime, sleep })).toBe(130);
    expect(runtime.output().stderr).toMatch(wanted);
  },
);

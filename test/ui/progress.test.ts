import { afterEach, describe, expect, test, vi } from 'vitest';
import type { LogEntry } from '../../src/runtime.js';
import { messagePrinter } from '../../src/ui/messages.js';
import { startProgress } from '../../src/ui/progress.js';
import { progressText, type ProgressState } from '../../src/ui/progress.js';
import { makeWorld, type WorldOptions } from '../support/test-environment.js';
import { until } from '../support/until.js';

const state: ProgressState = {
  label: 'upload users.csv',
  records: 120_000,
  rejected: 3,
  bytes: 45_200_000,
  totalBytes: 156_000_000,
  inFlight: 8,
  waiting: undefined,
};
const unknownTotal: ProgressState = { ...state, totalBytes: undefined, waiting: 'pending' };
const settings = { progress: 'auto', quiet: false, json: false, color: false } as const;

afterEach(() => vi.useRealTimers());

/** How it stood when the run began. */
const start: ProgressState = { ...state, records: 0, rejected: 0, bytes: 0, inFlight: 0 };
const lineAfter = (seconds: number, shown: ProgressState, columns?: number) =>
  progressText(shown, { since: start, seconds }, columns);

describe('the line', () => {
  test('shows the known figures', () => {
    expect(lineAfter(3, state)).toBe(
      'upload users.csv: 28 %, 120,000 records, 40,000/s, 3 rejected, 8 in flight, 8s left',
    );
    expect(lineAfter(600, { ...unknownTotal, rejected: 0, inFlight: 0 })).toBe(
      'upload users.csv: 120,000 records, 45.2 MB, 10m 0s, pending',
    );
    expect(lineAfter(600, state)).toMatch(/, 24m 31s left$/);
  });

  test('shows no rate in the first second, and excludes records of earlier attempts', () => {
    expect(lineAfter(0.9, state)).not.toMatch(/\/s|left/);
    const since = { ...start, records: 119_000 };
    expect(progressText(state, { since, seconds: 10 })).toContain('120,000 records, 100/s');
  });

  test('estimates no time if nothing moves or everything is read', () => {
    expect(progressText(state, { since: state, seconds: 5 })).not.toContain('left');
    expect(lineAfter(5, { ...state, bytes: 156_000_000 })).not.toContain('left');
  });

  test.each([
    [80, 'upload users.csv: 28 %, 120,000 records, 40,000/s, 3 rejected, 8s left'],
    [69, 'upload users.csv: 120,000 records, 40,000/s, 3 rejected, 8s left'],
    [50, '120,000 records, 40,000/s, 3 rejected, 8s left'],
    [40, '120,000 records, 3 rejected, 8s left'],
    [19, '120,000 records'],
    [10, '120,000 re'],
  ])('in %i columns keeps the most important figures', (columns, line) => {
    expect(lineAfter(3, state, columns)).toBe(line);
  });

  test('sanitizes a file name', () => {
    expect(lineAfter(0, { ...state, label: 'a\u001B]0;x\u0007\nb' })).toContain(
      'a\\u{1B}]0;x\\u{7} b: ',
    );
  });
});

describe('D without a terminal on stderr', () => {
  const lines = (
    progress: 'auto' | 'always' | 'never',
    more: object = {},
    options: WorldOptions = {},
  ) => {
    vi.useFakeTimers();
    const runtime = makeWorld(options).runtime();
    const shown = startProgress(() => state, { ...settings, progress, ...more }, runtime);
    vi.advanceTimersByTime(25_000);
    shown.stop();
    vi.advanceTimersByTime(60_000);
    return runtime.output().stderr;
  };
  const line = /upload users\.csv: 28 %, 120,000 records, .*8 in flight\n/g;
  const count = (text: string) => text.match(line)?.length ?? 0;

  test('progress is a plain line every 10 s until it stops', () => {
    expect(count(lines('auto'))).toBe(2);
  });

  test('--progress always adds a line at the start', () => {
    expect(count(lines('always'))).toBe(3);
  });

  test.each([
    ['never', 'never', {}],
    ['--quiet', 'always', { quiet: true }],
    ['--json', 'always', { json: true }],
  ] as const)('%s prints nothing', (_what, progress, more) => {
    expect(lines(progress, more)).toBe('');
  });

  test.each([
    ['a terminal of 0 columns', { tty: true, columns: 0 }],
    ['TERM=dumb', { tty: true, env: { TERM: 'dumb' } }],
  ])('%s counts as not a terminal', (_what, options) => {
    const text = lines('auto', {}, options);
    expect(count(text)).toBe(2);
    expect(text).not.toContain('\u001B');
  });
});

describe('a run that waits', () => {
  const waiting = 'waiting for eu1.example.test: connection refused, try 3, next in 4 s';
  const told = (options: WorldOptions, more: object = {}) => {
    vi.useFakeTimers();
    const runtime = makeWorld(options).runtime();
    const waits = { ...state, waiting };
    const progress = startProgress(() => waits, { ...settings, ...more }, runtime);
    vi.advanceTimersByTime(1000);
    progress.stop();
    return runtime.output().stderr;
  };

  test('shows the next attempt in lines too short for a bar or the address', async () => {
    const waits = { ...state, totalBytes: 100, bytes: 0, waiting };
    const [wide, narrow, narrowest] = [100, 80, 60].map(async (columns) => drawn(waits, columns));
    expect(await wide).toMatch(/\[-+\] 0 %, waiting for eu1.example.test: connection refused, try/);
    const toLineStart = '\u001B[1G';
    expect(await narrow).toMatch(/0 %, waiting for eu1.example.test: .*, next in 4 s/);
    expect(await narrow).toContain(`${toLineStart}0 %, waiting`);
    expect(await narrowest).toContain(
      `${toLineStart}3 rejected, waiting: connection refused, try 3, next in 4 s`,
    );
  });

  test('is reported at once if nothing is drawn, also between records', () => {
    const line = `upload users.csv: 28 %, 120,000 records, 3 rejected, 8 in flight, ${waiting}\n`;
    expect(told({})).toBe(line);
    expect(told({ tty: true }, { recordsOnStdout: true })).toBe(line);
    expect(told({ tty: true, env: { CI: 'true' } })).toBe(line);
    expect(told({}, { quiet: true })).toBe('');
  });

  test('keeps the wait in a narrow line, without a rate', () => {
    expect(lineAfter(5, { ...state, waiting }, 85)).toBe(`120,000 records, ${waiting}`);
    expect(lineAfter(5, { ...state, waiting }, 70)).toBe(waiting);
  });
});

test('prints no progress between records on a terminal', () => {
  vi.useFakeTimers();
  const runtime = makeWorld({ tty: true }).runtime();
  const progress = startProgress(() => state, { ...settings, recordsOnStdout: true }, runtime);
  vi.advanceTimersByTime(60_000);
  progress.stop();
  expect(runtime.output().stderr).toBe('');
});

test('writes a line per minute to the log file even if nothing is shown, with identifiers masked', () => {
  vi.useFakeTimers();
  const told: LogEntry[] = [];
  const runtime = { ...makeWorld().runtime(), log: (entry: LogEntry) => void told.push(entry) };
  const waiting = 'waiting for eu1.example.test: no ada.lovelace@mail.example, try 1, next in 4 s';
  const now = { ...state, waiting };
  const progress = startProgress(() => now, { ...settings, quiet: true }, runtime);
  vi.advanceTimersByTime(125_000);
  progress.stop();
  vi.advanceTimersByTime(120_000);
  const short = waiting.replace('ada.lovelace@mail.example', 'ada…');
  const text = expect.stringContaining(short) as string;
  const about = expect.objectContaining({ records: 120_000, waiting: short }) as object;
  expect(told).toEqual([1, 2].map(() => ({ type: 'progress', text, about })));
  expect(runtime.output().stderr).toBe('');
});

describe('a request for the state', () => {
  test('returns rate, percent, time left and the current time as an object', () => {
    vi.useFakeTimers();
    const runtime = makeWorld({ now: () => 0 }).runtime();
    let now = 0;
    let shown = start;
    const world = { ...runtime, monotonic: () => now };
    const progress = startProgress(() => shown, { ...settings, logJson: true }, world);
    [now, shown] = [3000, state];
    vi.advanceTimersByTime(10_000);
    progress.stop();
    expect(JSON.parse(runtime.output().stderr)).toMatchObject({
      type: 'progress',
      time: '1970-01-01T00:00:00.000Z',
      percent: 28,
      recordsPerSecond: 40_000,
      secondsLeft: 8,
      seconds: 3,
    });
  });

  test.each([
    [
      'with --progress never',
      { progress: 'never' },
      /^upload users\.csv: 28 %, 120,000 records.*\n$/,
    ],
    ['with --quiet', { quiet: true }, /^upload users\.csv: 28 %, 120,000 records.*\n$/],
    [
      'with --json',
      { json: true },
      /^\{"type":"progress","time":".*","label":"upload users.*\}\n$/,
    ],
  ] as const)('is answered by one line %s until the run ends', (_what, more, expected) => {
    const statusRequests = new EventTarget();
    const runtime = makeWorld({ statusRequests }).runtime();
    const shown = startProgress(() => state, { ...settings, ...more }, runtime);
    statusRequests.dispatchEvent(new Event('ask'));
    shown.stop();
    statusRequests.dispatchEvent(new Event('ask'));
    expect(runtime.output().stderr).toMatch(expected);
  });
});

describe('on a terminal', () => {
  test('draws a bar for a known size', async () => {
    expect(await drawn(state, 80)).toMatch(/\[=+-+\] upload users\.csv: 28 %, 120,000/);
    expect(await drawn(state, 59)).not.toContain('[=');
  });

  test('draws a bar that matches its text, even if the run advanced since the last tick', async () => {
    let share = 0;
    const moving = () => ({ ...state, totalBytes: 100, bytes: Math.min(100, (share += 10)) });
    const frames = (await drawnBy(moving)).matchAll(/\[(=*)-*\] upload users.csv: (\d+) %/g);
    const said = [...frames].map(([, bar = '', percent]) => [bar.length * 5, Number(percent)]);
    expect(said.length).toBeGreaterThan(1);
    for (const [bar, percent] of said) expect(bar).toBe(percent);
  });

  test('draws a spinner for an unknown size', async () => {
    expect(await drawn(unknownTotal)).toMatch(/\S upload users\.csv: 120,000/u);
  });

  test.each([
    ['bar', state],
    ['spinner', unknownTotal],
  ])(
    'fits the %s into the line, and leaves cursor and wrapping unchanged',
    async (_what, shown) => {
      for (const columns of [20, 41]) {
        const text = await drawn({ ...shown, label: '名前の長いファイル'.repeat(9) }, columns);
        expect(text).not.toContain('\u001B[?25l');
        expect(text).not.toContain('\u001B[?7l');
        expect(widestLine(text)).toBeLessThanOrEqual(columns);
        expect(screen(text)).toEqual(['']);
      }
    },
  );

  test.each([
    ['bar', state],
    ['spinner', unknownTotal],
  ])('prints a message beside the %s on its own line', async (_what, shown) => {
    const runtime = makeWorld({ tty: true }).runtime();
    const progress = startProgress(() => shown, settings, runtime);
    await untilDrawn(runtime);
    const told = messagePrinter({ ...settings, verbose: false }, runtime);
    told.warn('careful');
    const written = () => runtime.output().stderr;
    const before = written();
    await until(() => written() !== before, { message: 'the next frame is drawn' });
    progress.stop();
    expect(screen(runtime.output().stderr)).toEqual(['warning: careful', '']);
  });

  test('draws nothing if it is stopped before the libraries are loaded', async () => {
    const runtime = makeWorld({ tty: true }).runtime();
    startProgress(() => state, settings, runtime).stop();
    await frameLater();
    expect(runtime.output().stderr).toBe('');
  });

  test.each([
    ['bar', state],
    ['spinner', unknownTotal],
  ])('does not redraw the %s after it was stopped', async (_what, shown) => {
    const runtime = makeWorld({ tty: true }).runtime();
    const progress = startProgress(() => shown, settings, runtime);
    await untilDrawn(runtime);
    progress.stop();
    const last = runtime.output().stderr;
    await frameLater();
    expect(runtime.output().stderr).toBe(last);
  });
});

/** Everything written for a display that is stopped after its first frame. */
async function drawn(shown: ProgressState, columns = 60): Promise<string> {
  return drawnBy(() => shown, columns);
}

async function drawnBy(read: () => ProgressState, columns = 80): Promise<string> {
  const runtime = makeWorld({ tty: true, columns }).runtime();
  const progress = startProgress(read, settings, runtime);
  await untilDrawn(runtime);
  progress.stop();
  progress.stop();
  return runtime.output().stderr;
}

/** Resolves when displays that were started now have drawn twice: earlier ones would have drawn, too. */
async function frameLater(): Promise<void> {
  for (const shown of [state, unknownTotal]) {
    const runtime = makeWorld({ tty: true }).runtime();
    const progress = startProgress(() => shown, settings, runtime);
    await untilDrawn(runtime);
    const first = runtime.output().stderr;
    await until(() => runtime.output().stderr !== first, { message: 'a second frame is drawn' });
    progress.stop();
  }
}

function untilDrawn(runtime: { output(): { stderr: string } }): Promise<void> {
  return until(() => runtime.output().stderr !== '', { message: 'a frame is drawn' });
}

const control = /\u001B\[[?0-9]*[A-Za-z]|\u001B[78]|[\r\n]/g; // oxlint-disable-line no-control-regex -- what a terminal is told begins with one

const widestLine = (text: string): number =>
  Math.max(...text.split(control).map((part) => part.length));

/** What a terminal would show, as far as the sequences used here go. */
function screen(text: string): string[] {
  const lines = [''];
  let [row, column] = [0, 0];
  let saved = [0, 0] as [number, number];
  const sequence = /\u001B\[([?0-9]*)([A-Za-z])|\u001B([78])|([\r\n])|[^]/gu; // oxlint-disable-line no-control-regex -- what a terminal is told begins with one
  for (const [all, count = '', command, keep, move] of text.matchAll(sequence)) {
    if (move === '\r') column = 0;
    else if (move === '\n') [row, column] = [row + 1, 0];
    else if (keep === '7') saved = [row, column];
    else if (keep === '8') [row, column] = saved;
    else if (command === 'G') column = Number(count) - 1;
    else if (command === 'A') row -= Number(count);
    else if (command === 'K') lines[row] = count === '2' ? '' : (lines[row] ?? '').slice(0, column);
    else if (command === undefined) {
      const line = (lines[row] ?? '').padEnd(column);
      lines[row] = line.slice(0, column) + all + line.slice(column + all.length);
      column += all.length;
    }
    lines[row] ??= '';
  }
  return lines;
}

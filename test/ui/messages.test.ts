import { describe, expect, test } from 'vitest';
import { messagePrinter } from '../../src/ui/messages.js';
import { makeWorld, type WorldOptions } from '../support/test-environment.js';

function written(
  settings: { json?: boolean; quiet?: boolean; verbose?: boolean; color?: boolean },
  options: WorldOptions = {},
): string {
  const runtime = makeWorld(options).runtime();
  const told = messagePrinter(
    { json: false, quiet: false, verbose: false, color: false, ...settings },
    runtime,
  );
  told.note('a note');
  told.warn('careful\u001B[31m\u202E');
  told.verbose('GET /1/profile.json: 200');
  expect(runtime.output().stdout).toBe('');
  return runtime.output().stderr;
}

describe('messages', () => {
  test('are lines on stderr, with control and bidi characters made visible', () => {
    expect(written({})).toBe('a note\nwarning: careful\\u{1B}[31m\\u{202E}\n');
  });

  test('are all dropped by --quiet', () => {
    expect(written({ quiet: true, verbose: true })).toBe('');
    expect(written({ quiet: true, json: true })).toBe('');
  });

  test('include the lines about requests with --verbose', () => {
    const line = /\n\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z GET \/1\/profile\.json: 200\n$/;
    expect(written({ verbose: true })).toMatch(line);
  });

  test('are one object per line with --json', () => {
    const text = written({ json: true, verbose: true });
    expect(text).toContain('\\u001b[31m\\u202e');
    const lines = text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { type: 'note', message: 'a note' },
      { type: 'warning', message: 'careful\u001B[31m\u202E' },
      { type: 'verbose', time: expect.any(String), message: 'GET /1/profile.json: 200' },
    ]);
  });

  test('are colored on a terminal only, and only if color is wanted', () => {
    expect(written({ color: true })).not.toContain('\u001B[33m');
    expect(written({ color: true }, { tty: true })).toContain('\u001B[33mwarning:\u001B[39m');
    expect(written({ color: false }, { tty: true })).not.toContain('\u001B[33m');
  });

  test('are plain on a dumb terminal, which has no bar to clear', () => {
    const plain = written({}, { tty: true, env: { TERM: 'dumb' } });
    expect(plain).toBe('a note\nwarning: careful\\u{1B}[31m\\u{202E}\n');
  });
});

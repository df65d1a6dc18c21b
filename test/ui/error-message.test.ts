import { describe, expect, test } from 'vitest';
import { EngagectlError } from '../../src/errors.js';
import { printError } from '../../src/ui/error-message.js';
import { makeWorld } from '../support/test-environment.js';

function shown(
  error: unknown,
  { json = false, verbose = false, color = false, tty = false } = {},
): string {
  const runtime = makeWorld({ tty }).runtime();
  printError(error, runtime, { json, verbose, color });
  expect(runtime.output().stdout).toBe('');
  return runtime.output().stderr;
}

const error = new EngagectlError(
  'E-HEADER-DUPLICATE',
  'users.csv: column "E\u001Bmail" appears twice',
  {
    why: 'the service could only keep one',
    fix: 'rename one of them',
    file: 'users.csv',
    line: 1,
  },
);

describe('an error', () => {
  test('prints what, why and fix, sanitized for a terminal', () => {
    expect(shown(error))
      .toBe(`error E-HEADER-DUPLICATE: users.csv: column "E\\u{1B}mail" appears twice
  why: the service could only keep one
  fix: rename one of them
  more: engagectl help errors E-HEADER-DUPLICATE
`);
  });

  test('without why or fix prints those of its id, in text and in JSON', () => {
    const bare = new EngagectlError('E-TERMINATED', 'stopped by SIGTERM');
    const why = 'SIGTERM stopped the command';
    expect(shown(bare)).toContain(`\n  why: ${why}\n  fix: `);
    expect(JSON.parse(shown(bare, { json: true }))).toMatchObject({ error: { why } });
  });

  test('starts in red on a terminal, unless colors are switched off', () => {
    const red = '\u001B[31merror\u001B[39m E-';
    expect(shown(error, { color: true, tty: true }).startsWith(red)).toBe(true);
    expect(shown(error, { color: true })).toMatch(/^error E-/);
    expect(shown(error, { tty: true })).toMatch(/^error E-/);
  });

  test('is one JSON object on one line with --json', () => {
    const text = shown(error, { json: true });
    expect(text.trimEnd()).not.toContain('\n');
    expect(JSON.parse(text)).toEqual({
      error: {
        id: 'E-HEADER-DUPLICATE',
        message: 'users.csv: column "E\u001Bmail" appears twice',
        why: 'the service could only keep one',
        fix: 'rename one of them',
        file: 'users.csv',
        line: 1,
        exitCode: 8,
      },
      type: 'error',
    });
  });

  test('that was not expected prints its stack only with --verbose', () => {
    const defect = new TypeError('x is undefined');
    expect(shown(defect)).not.toContain('    at ');
    expect(shown(defect, { verbose: true })).toContain('    at ');
    expect(JSON.parse(shown(defect, { json: true }))).toMatchObject({
      error: {
        id: 'E-DEFECT',
        exitCode: 1,
        why: 'internal error: a defect in engagectl, not a mistake in your command',
      },
    });
  });

  test('of a closed stdout prints nothing', () => {
    expect(shown(new EngagectlError('E-STDOUT-CLOSED', 'stdout was closed'))).toBe('');
  });
});

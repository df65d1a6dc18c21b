import { describe, expect, test } from 'vitest';
import { EngagectlError } from '../../src/errors.js';
import { showError } from '../../src/ui/show-error.js';
import { makeWorld } from '../support/world.js';

function shown(error: unknown, { json = false, verbose = false } = {}): string {
  const runtime = makeWorld().runtime();
  showError(error, runtime, { json, verbose });
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
  test('says what, why and what to do, and is harmless for a terminal', () => {
    expect(shown(error))
      .toBe(`engagectl: E-HEADER-DUPLICATE: users.csv: column "E\\u{1B}mail" appears twice
  why: the service could only keep one
  fix: rename one of them
`);
  });

  test('is one JSON object on one line under --json', () => {
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
    });
  });

  test('that nobody foresaw shows its stack only with --verbose', () => {
    const defect = new TypeError('x is undefined');
    expect(shown(defect)).not.toContain('    at ');
    expect(shown(defect, { verbose: true })).toContain('    at ');
    expect(JSON.parse(shown(defect, { json: true }))).toMatchObject({
      error: { id: 'E-DEFECT', exitCode: 1 },
    });
  });

  test('of a closed stdout says nothing', () => {
    expect(shown(new EngagectlError('E-STDOUT-CLOSED', 'stdout was closed'))).toBe('');
  });
});

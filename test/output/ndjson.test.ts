import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../support/property-runs.js';
import { PageScanner } from '../../src/text/page-scanner.js';
import { ndjsonLines } from '../../src/output/ndjson-format.js';

function linesOf(body: string): string {
  const scanner = new PageScanner();
  scanner.push(Buffer.from(body));
  return ndjsonLines(scanner.end()).toString();
}

describe('ndjsonLines', () => {
  it('removes line breaks between tokens, and nothing else', () => {
    const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
    const record = fc
      .tuple(fc.string(), fc.double(), space)
      .map(
        ([text, number, s]) =>
          `{${s}${JSON.stringify(text)}${s}:${s}[${s}${number}0,${s}{}${s}]${s}}`,
      );
    fc.assert(
      fc.property(fc.array(record, { maxLength: 6 }), space, (records, s) => {
        const valid = records.filter((text) => isJson(text));
        const body = `{"status":"success",${s}"records"${s}:[${s}${valid.join(`${s},${s}`)}${s}]}`;
        const expected = valid.map((text) => `${text.replaceAll(/[\r\n]/g, '')}\n`).join('');
        expect(linesOf(body)).toBe(expected);
      }),
      { numRuns: runs(500) },
    );
  });

  it('is empty for a page without records', () => {
    expect(linesOf('{"records":[ ]}')).toBe('');
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

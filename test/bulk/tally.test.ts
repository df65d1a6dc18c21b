import { expect, it } from 'vitest';
import type { RowParseError } from '../../src/input/row-block.js';
import { Tally } from '../../src/bulk/outcomes/tally.js';
import type { Reject, RejectsFile } from '../../src/output/rejects-file.js';
import { csvRows, jsonRows } from '../support/builders/row-blocks.js';

// Counts of a run, and what its rejects say of text that could not be read.

function stage() {
  const listed: Reject[] = [];
  const rejects = { add: (reject: Reject) => void listed.push(reject) } as unknown as RejectsFile;
  const tally = new Tally({ rejects, sourceRecord: () => '{}', listNotSent: () => false });
  return { tally, listed };
}

it('starts a resumed run with the committed counts, which balance', () => {
  const { tally } = stage();
  tally.resume({
    accepted: 1,
    rejected: 20,
    unknown: 300,
    duplicates: 4000,
    unchanged: 50_000,
    alreadySent: 600_000,
  });
  expect(tally.counts).toMatchObject({ read: 654_321, resumed: 1, accepted: 0, unknown: 300 });
  tally.assertBalanced();
});

/** Bytes of a text before the mark that it was cut. */
const room = 65_536 - Buffer.byteLength('… [cut to 64 KiB]');

const failureOf = (raw: Buffer): RowParseError => ({ at: 0, line: 7, error: 'not UTF-8', raw });

it.each([
  ['text', Buffer.from('Zürich'), { record: '"Zürich"' }],
  ['text that ends within a character', Buffer.from('Zü').subarray(0, 2), { recordBase64: 'WsM=' }],
  ['bytes', Buffer.of(0x41, 0xff, 0x42), { recordBase64: 'Qf9C' }],
  ['a byte before text', Buffer.of(0xff, 0x41, 0x42), { recordBase64: '/0FC' }],
  [
    'long text that was cut within a character',
    Buffer.from(`${'x'.repeat(room - 1)}ü${'y'.repeat(100)}`),
    { record: JSON.stringify(`${'x'.repeat(room - 1)}… [cut to 64 KiB]`) },
  ],
  [
    'long text that was cut two bytes into a character',
    Buffer.from(`${'x'.repeat(room - 2)}😀${'y'.repeat(100)}`),
    { record: JSON.stringify(`${'x'.repeat(room - 2)}… [cut to 64 KiB]`) },
  ],
  [
    'long text that was cut three bytes into a character',
    Buffer.from(`${'x'.repeat(room - 3)}😀${'y'.repeat(100)}`),
    { record: JSON.stringify(`${'x'.repeat(room - 3)}… [cut to 64 KiB]`) },
  ],
])('lists an unparsable record unchanged: %s', (_what, raw, expected) => {
  const { tally, listed } = stage();
  const rows = { ...jsonRows([]), parseErrors: [failureOf(raw)] };
  tally.counts.read += 1;
  tally.parseError(rows, rows.parseErrors[0]!);
  const { source, line, stage: when, error, ...rest } = listed[0]!;
  expect([source, line, when, error]).toEqual(['users.ndjson', 7, 'parse', 'not UTF-8']);
  expect(rest).toEqual(expected);
  expect(tally.counts).toMatchObject({ rejected: 1 });
  tally.assertBalanced();
});

it.each([
  [',', '"', '"', {}],
  [';', "'", '\\', { delimiter: ';', quote: "'", escape: '\\' }],
])(
  'lists an unparsable line with its delimiter, quote and escape: %s %s %s',
  (delimiter, quote, escape, more) => {
    const { tally, listed } = stage();
    const { cells, ...rows } = csvRows(['id', 'City'], []);
    const markers = {
      delimiter: Buffer.from(delimiter),
      quote: Buffer.from(quote),
      escape: Buffer.from(escape),
    };
    const failure = failureOf(Buffer.from('a'));
    tally.parseError(
      { ...rows, cells: { ...cells!, markers }, parseErrors: [failure] } as never,
      failure,
    );
    expect(listed[0]).toEqual({
      source: 'users.csv',
      line: 7,
      stage: 'parse',
      error: 'not UTF-8',
      record: '"a"',
      columns: ['id', 'City'],
      ...more,
    });
  },
);

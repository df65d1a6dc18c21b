import { Buffer } from 'node:buffer';
import { expect, it } from 'vitest';
import { runs } from '../support/property-runs.js';
import { EngagectlError } from '../../src/errors.js';
import { JsonParser } from '../../src/text/json-parser.js';
import { randomOf, seeds } from '../chaos/random.js';
import { encode, type Encoding } from '../support/oracles/documents.js';
import {
  expectedOf,
  failureOutcome,
  rowOutcome,
  unclosedOutcome,
} from '../support/oracles/csv-reference.js';
import { chunked, readText, type Read } from './read-rows.js';
import { arrival, wildCsv, wildNdjson } from '../support/oracles/random-csv.js';

// What we read against what csv-parse and JSON.parse read, document by document. Each document has a
// seed of its own, which a failure names:
//     ENGAGECTL_SEED=20261121 ENGAGECTL_DOCUMENTS=1000000 npx vitest run test/input/differential.test.ts

const sample = runs(1000);
const documents = Number(process.env['ENGAGECTL_DOCUMENTS'] ?? sample);
const patience = 30_000 + documents * 20;

it(`reads ${documents} random CSV documents like csv-parse`, { timeout: patience }, async () => {
  for (const seed of seeds(documents)) {
    const document = wildCsv(randomOf(seed));
    const { text, marks, encoding, sizes } = document;
    if (isLikeUtf32(text, encoding)) continue;
    const { comment, ...others } = marks;
    const options = {
      inputFormat: 'csv',
      ...others,
      ...(comment !== '' && { comment }),
      skipLines: 0, // the reference knows of no titles above the header row
      // a short text with U+0000 in every second byte is UTF-16 as well
      ...(encoding === 'utf-8' && { encoding }),
    } as const;
    const read = await readText(chunked(encode(text, encoding), sizes), options);
    // Before a quote that may be of another dialect, the rest is not read.
    const isStopped =
      /follows a blank|escaped with a backslash|is an error|another number of cells/.test(
        String(read.error),
      );
    const found = outcomesOf(isStopped ? { ...read, error: undefined } : read);
    const expected = expectedOf(document).slice(0, isStopped ? found.length : undefined);
    if (found.join() !== expected.join()) expect(found, said(seed, text)).toEqual(expected);
  }
});

it(
  `reads ${documents} random NDJSON documents like JSON.parse`,
  { timeout: patience },
  async () => {
    const json = new JsonParser();
    for (const seed of seeds(documents)) {
      const random = randomOf(seed);
      const text = wildNdjson(random);
      const { encoding, sizes } = arrival(random);
      if (isLikeUtf32(text, encoding)) continue;
      const { rows, parseErrors, error } = await readText(chunked(encode(text, encoding), sizes), {
        inputFormat: 'ndjson',
        encoding: 'utf-8',
      });
      const found = rows.map(({ line, text }) => {
        const bytes = Buffer.from(text);
        // a repeated key is good JSON, and refused for another reason
        return { line, text, valid: json.read(bytes, 0, bytes.length) || json.repeatsKey };
      });
      const lines = linesOf(text);
      // A line that only opens a value is the first one of pretty-printed JSON, whose other lines are no records.
      const opening = lines.findIndex(({ line, text: own }) => /^[[{][ \t\r]?[[{]?$/.test(own) && line <= text.split('\n').length - 1); // prettier-ignore
      const expected = opening < 0 ? lines : lines.slice(0, opening);
      const isStopped = (error as EngagectlError | undefined)?.id === 'E-FORMAT';
      const result = { found, parseErrors, isStopped };
      const wanted = { found: expected, parseErrors: [], isStopped: opening >= 0 };
      if (JSON.stringify(result) !== JSON.stringify(wanted))
        expect(result, said(seed, text)).toEqual(wanted);
    }
  },
);

/** Whether a document begins like UTF-32, which is refused. */
const isLikeUtf32 = (text: string, encoding: Encoding): boolean =>
  encoding === 'utf-16le' && text.startsWith('\0');

const said = (seed: number, text: string): string => `document ${seed}: ${JSON.stringify(text)}`;

function outcomesOf({ rows, parseErrors, error }: Read): string[] {
  if (error !== undefined && !(error instanceof EngagectlError)) throw error;
  const outcomes = [
    ...rows.map(({ line, text, cells }) => ({ line, text: rowOutcome(line, text, cells) })),
    ...parseErrors.map(({ line, error, raw }) => {
      const failure = /^\d+ cells?, but/.test(error) ? 'cells' : 'quoting';
      return { line, text: failureOutcome(line, failure, Buffer.from(raw, 'latin1').toString()) };
    }),
  ];
  const unclosed = error?.id === 'E-CSV-QUOTE' ? [unclosedOutcome(error.details.line!)] : [];
  return [...outcomes.toSorted((a, b) => a.line - b.line).map(({ text }) => text), ...unclosed];
}

/** The lines that are not blank, without the white space of JSON around them. */
const linesOf = (text: string) =>
  text.split('\n').flatMap((line, index) => {
    const trimmed = line.replace(/^[ \t\r]+|[ \t\r]+$/g, '');
    return trimmed === '' ? [] : [{ line: index + 1, text: trimmed, valid: isJson(trimmed) }];
  });

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

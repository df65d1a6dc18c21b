import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { unnamedOption } from '../../src/errors.js';
import { RejectsFile } from '../../src/output/rejects-file.js';
import { createJournal, Journal } from '../../src/bulk/journal/journal.js';
import { JournaledOutcomes } from '../../src/bulk/outcomes/outcome-log.js';
import {
  replayWrite,
  writeEntries,
  type WriteEntry,
} from '../../src/bulk/outcomes/journal-entries.js';
import { Tally } from '../../src/bulk/outcomes/tally.js';
import { jsonRows } from '../support/builders/row-blocks.js';
import { makeWorld } from '../support/test-environment.js';

const rows = jsonRows(Array.from({ length: 40 }, (_, n) => `{"n":${n}}`));

/** A journal and a rejects file on the disk, and the tally that writes to both. */
function begin(files: { readonly journal: string; readonly rejects: string }) {
  createJournal(files.journal);
  const { journal } = Journal.open<WriteEntry>(files.journal, writeEntries);
  const rejects = new RejectsFile(files.rejects, files.rejects, { option: unnamedOption });
  const tally = new Tally({
    rejects,
    sourceRecord: (_, row) => `${row}`,
    listNotSent: () => false,
  });
  const start = { input: 0, offset: 0, line: 1, ordinal: 0 };
  tally.log = new JournaledOutcomes({
    journal,
    rejects,
    digests: () => [],
    start,
    nonIdempotent: new Set(),
  });
  tally.log.opened(rows);
  return { journal, tally };
}

it('covers in the journal exactly the bytes of the rejects file with committed records', async () => {
  const world = makeWorld();
  let runs = 0;
  const step = fc.constantFrom('accepted', 'unknown', 'commit', 'turn');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: rows.count }), async (steps) => {
      runs += 1;
      const files = {
        journal: world.path(`journal-${runs}`),
        rejects: world.path(`rejects-${runs}`),
      };
      const { journal, tally } = begin(files);
      const unknown = new Set<number>();
      const commits: Promise<void>[] = [];
      for (const [row, what] of steps.entries()) {
        if (what === 'accepted') tally.accept(rows, row);
        else if (what === 'commit') commits.push(tally.log.commit());
        else if (what === 'turn') await turn();
        else {
          unknown.add(row);
          tally.reject(rows, row, { stage: 'unknown', error: 'no answer' });
        }
      }
      await Promise.all(commits);
      await tally.close();
      journal.close();

      const { journal: written, entries } = Journal.open<WriteEntry>(files.journal, writeEntries);
      written.close();
      for (let known = 1; known <= entries.length; known += 1) {
        const { settled, rejects } = replayWrite(entries.slice(0, known));
        const listed = linesOf(files.rejects, rejects.bytes);
        expect(listed).toEqual([...unknown].filter((row) => settled.has(row)));
      }
    }),
  );
});

/** What a resume keeps of the file: the rows that are listed there. */
function linesOf(file: string, bytes: number): number[] {
  if (bytes === 0) return [];
  const lines = readFileSync(file).subarray(0, bytes).toString().trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { readonly record: number }).record);
}

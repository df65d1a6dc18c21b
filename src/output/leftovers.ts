import { lstat, rm } from 'node:fs/promises';
import { plainOption } from '../errors.js';
import { verifyMark, type FileMark } from './checkpoint-file.js';
import { findTarget, spillOf, spoolOf } from './partial-file.js';

/** What is known of the files of an unfinished output. */
interface UnfinishedOutput {
  readonly path: string;
  readonly cwd: string;
  /** Where its partial or spool stood. */
  readonly marks: readonly FileMark[];
  /** Where the spills of its slices stood, by the slice's number in the run. */
  readonly spills: ReadonlyMap<number, FileMark>;
}

/** Paths of files. */
export interface Leftovers {
  readonly removed: readonly string[];
  /** Not as the export left them: somebody else's by now. */
  readonly left: readonly string[];
}

/** Removes what an unfinished export left beside its output, and nothing that it did not write. */
export async function removeLeftovers(output: UnfinishedOutput): Promise<Leftovers> {
  const where = { cwd: output.cwd, option: plainOption }; // nobody reads what is thrown here
  const target = await findTarget(output.path, where).catch(() => undefined); // a folder now
  if (target?.kind !== 'file') return { removed: [], left: [] };
  const files = await existing([target.partial, spoolOf(target)]);
  // A CSV has both, and only one of them has a mark.
  const areOurs = await anyMatches(files, output.marks);
  const spills = [...output.spills].map(([slice, mark]) => ({
    file: spillOf(target, slice),
    mark,
  }));
  const ours: string[] = [];
  for (const file of files) if (areOurs || (await isEmpty(file))) ours.push(file);
  for (const { file, mark } of spills) if (await matches(file, mark)) ours.push(file);
  const all = [...files, ...(await existing(spills.map(({ file }) => file)))];
  for (const file of ours) await rm(file, { force: true });
  return { removed: ours, left: all.filter((file) => !ours.includes(file)) };
}

async function anyMatches(files: readonly string[], marks: readonly FileMark[]): Promise<boolean> {
  for (const file of files) {
    for (const mark of marks) if (mark.bytes > 0 && (await matches(file, mark))) return true;
  }
  return false;
}

const matches = async (file: string, mark: FileMark): Promise<boolean> =>
  verifyMark(file, mark, plainOption).then(
    () => true,
    () => false,
  );

async function existing(files: readonly string[]): Promise<string[]> {
  const found = await Promise.all(files.map((file) => lstat(file).catch(() => undefined)));
  return files.filter((_, index) => found[index]?.isFile());
}

const isEmpty = async (file: string): Promise<boolean> => (await lstat(file)).size === 0;

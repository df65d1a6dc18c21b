import { EngagectlError } from '../../errors.js';
import { FileDraft } from '../../files/atomic-write.js';
import { inferMapping, sampleRows } from '../../mapping/preview/mapping-inference.js';
import { fileWriteError } from '../../files/file-errors.js';
import { resolveTarget, refuseExisting, type FileTarget } from '../../output/partial-file.js';
import type { Inputs } from '../../input/inputs.js';
import type { RowBlock } from '../../input/row-block.js';
import type { MappingFile } from '../../mapping/mapping-file-schema.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { Wording, JobContext } from '../job-context.js';

/** Where a drafted mapping file goes. */
export interface MappingFileOptions {
  readonly writeMapping: string;
  /** Replace what is there. */
  readonly overwrite?: boolean;
}

/** Refuses what stands in its way. Throws E-OUTPUT-EXISTS, E-USAGE, E-FILE-WRITE. */
export async function mappingFileTarget(
  { writeMapping, overwrite }: MappingFileOptions,
  { runtime, words }: Pick<JobContext, 'runtime' | 'words'>,
): Promise<FileTarget> {
  const option: FileTarget['option'] = (name, value) =>
    words.option(name === 'output' ? 'writeMapping' : name, value);
  const target = await resolveTarget(writeMapping, { cwd: runtime.cwd, option });
  if (target.kind !== 'file') {
    throw new EngagectlError('E-USAGE', `${writeMapping} is no place for a mapping file`, {
      why: 'the preview goes there, or it is no regular file',
      fix: `name a file: ${option('writeMapping', 'mapping.json')}`,
    });
  }
  await refuseExisting(target, overwrite === true);
  return target;
}

/** Throws E-OUTPUT-EXISTS, E-FILE-WRITE. */
export async function writeMappingFile(
  drafted: MappingFile,
  target: FileTarget,
  overwrite: boolean,
): Promise<void> {
  const { name, path, option } = target;
  try {
    const draft = new FileDraft(path);
    draft.write(`${JSON.stringify(drafted, undefined, 2)}\n`);
    draft.commit({ overwrite });
  } catch (error) {
    await refuseExisting(target, overwrite); // it may have appeared meanwhile
    throw fileWriteError({ file: name, done: 'written', option }, error);
  }
}

/** What is drafted from these rows. Throws E-COLUMN-MISSING, E-USAGE. */
export function inferFromRows(
  rows: readonly RowBlock[],
  { headers, first }: Inputs,
  given: UploadMapping,
  { option }: Wording,
): MappingFile {
  const [table] = headers;
  const other = headers.find(({ header }) => header !== table?.header);
  if (other) {
    throw new EngagectlError('E-USAGE', `${first} and ${other.source} have other columns`, {
      why: 'a mapping file that names all columns fits one kind of file',
      fix: 'draft one for each of them',
    });
  }
  const sampled = sampleRows(rows, table?.header ?? [], given.zone);
  if (sampled === undefined) {
    throw new EngagectlError('E-USAGE', `${first} has no columns that could be mapped`, {
      why: 'it holds records of the service or of an export, which are sent as they are',
      fix: `leave out ${option('writeMapping')}`,
    });
  }
  const drafted = inferMapping(sampled, given);
  if (drafted) return drafted;
  const names = sampled.columns.map(({ name }) => JSON.stringify(name)).join(', ');
  throw new EngagectlError('E-COLUMN-MISSING', `${first}: no column looks like an identity`, {
    why: `columns are ${names || 'not there'}; an identity has a value in every row, and another one in each`,
    fix: `name it: ${option('identity', '<column>')}`,
    file: first,
  });
}

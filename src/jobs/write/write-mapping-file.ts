import { EngagectlError, groupDigits } from '../../errors.js';
import { AtomicFile } from '../../files/atomic-write.js';
import {
  AmbiguousColumnError,
  inferMapping,
  sampleRows,
} from '../../mapping/preview/mapping-inference.js';
import { fileWriteError } from '../../files/file-errors.js';
import { resolveTarget, refuseExisting, type FileTarget } from '../../output/partial-file.js';
import type { FittingTypes, SampledRows } from '../../mapping/preview/column-inference.js';
import type { Inputs } from '../../input/inputs.js';
import type { RowBlock } from '../../input/row-block.js';
import type { MappingFile } from '../../mapping/mapping-file-schema.js';
import type { CellType, UploadMapping } from '../../mapping/upload-mapping.js';
import type { Wording, JobContext } from '../job-context.js';

/** Path of the mapping file to write. */
export interface MappingFileOptions {
  readonly writeMapping: string;
  /** Replace an existing file. */
  readonly overwrite?: boolean;
}

/** Resolves and checks the path of a mapping file. Throws E-OUTPUT-EXISTS, E-USAGE, E-FILE-WRITE. */
export async function mappingFileTarget(
  { writeMapping, overwrite }: MappingFileOptions,
  { runtime, words }: Pick<JobContext, 'runtime' | 'words'>,
): Promise<FileTarget> {
  const option: FileTarget['option'] = (name, value) =>
    words.option(name === 'output' ? 'writeMapping' : name, value);
  const target = await resolveTarget(writeMapping, { cwd: runtime.cwd, uid: runtime.uid, option });
  if (target.kind !== 'file') {
    throw new EngagectlError('E-USAGE', `${writeMapping} cannot be the mapping file`, {
      why: 'it is standard output, which shows the preview, or not a regular file',
      fix: `name a file: ${option('writeMapping', 'mapping.json')}`,
    });
  }
  await refuseExisting(target, overwrite === true);
  return target;
}

/** Writes the mapping file atomically. Throws E-OUTPUT-EXISTS, E-FILE-WRITE. */
export async function writeMappingFile(
  drafted: MappingFile,
  target: FileTarget,
  overwrite: boolean,
): Promise<void> {
  const { name, path, option } = target;
  try {
    const draft = new AtomicFile(path);
    draft.write(`${JSON.stringify(drafted, undefined, 2)}\n`);
    draft.commit({ overwrite });
  } catch (error) {
    await refuseExisting(target, overwrite); // it may have appeared meanwhile
    throw fileWriteError({ file: name, done: 'written', option }, error);
  }
}

/** Infers a mapping from rows. Throws E-COLUMN-MISSING, E-USAGE. */
function inferFromRows(
  rows: readonly RowBlock[],
  { headers, first }: Inputs,
  given: UploadMapping,
  { option }: Wording,
): { readonly drafted: MappingFile; readonly evidence: readonly string[] } {
  const [table] = headers;
  const other = headers.find(({ header }) => header !== table?.header);
  if (other) {
    throw new EngagectlError('E-USAGE', `${first} and ${other.source} have different columns`, {
      why: 'a mapping file fits files with the same columns only',
      fix: 'create one mapping file for each of them',
    });
  }
  const sampled = sampleRows(rows, table?.header ?? [], given.zone);
  if (sampled === undefined) {
    throw new EngagectlError('E-USAGE', `${first} has no columns to map`, {
      why: 'it contains records in the format of the service or of an export, which are sent unchanged',
      fix: `omit ${option('writeMapping')}`,
    });
  }
  const drafted = inferMapping(sampled, given);
  if (drafted) return { drafted, evidence: evidenceFor(drafted, sampled) };
  const names = sampled.columns.map(({ name }) => JSON.stringify(name)).join(', ');
  throw new EngagectlError('E-COLUMN-MISSING', `${first}: no column looks like an identity`, {
    why: `columns: ${names || 'none'}; an identity has a unique value in every row`,
    fix: `choose a column: ${option('identity', '<column>')}`,
    file: first,
  });
}

/** Returns how many values fit the formats that a draft states, why it trims, and which values it takes as missing. */
function evidenceFor(mapping: MappingFile, { columns, rows }: SampledRows): string[] {
  const types = new Map(Object.entries(mapping.types ?? {})); // a column may be named constructor
  return columns.flatMap((column) => {
    const name = JSON.stringify(column.name);
    const type = types.get(column.name);
    const missing = column.placeholders(mapping.trim === true).map(([text, count]) => {
      const values = count === 1 ? '1 value is' : `${groupDigits(count)} values are`;
      return `${name}: ${values} ${JSON.stringify(text)}, read as missing`;
    });
    if (isSent(column.name, mapping) && column.isPaddedByProgram(rows)) {
      const padded = `${groupDigits(column.padded)} of ${groupDigits(rows)} rows have whitespace around the value`;
      missing.unshift(`${name}: trim: ${padded}; removed from all columns, the identity included`);
    }
    const found = type?.startsWith('phone(')
      ? column.phoneTypes
      : (column.numericTimes ?? column.formats);
    if (!type?.includes('(') || !found) return missing;
    const { fits, all, example, rival } = found;
    const values = `${groupDigits(fits)} of ${groupDigits(all)} distinct values fit`;
    const unread = rival ? `; ${groupDigits(rival.unread)} of them cannot be ${rival.type}` : '';
    return [`${name}: ${type}: ${values}${unread}, such as ${JSON.stringify(example)}`, ...missing];
  });
}

/** Whether a column is sent as data. */
const isSent = (name: string, { identity, objectId, drop = [] }: MappingFile): boolean =>
  ![identity, objectId, ...drop].includes(name);

/** Asks which of several types the values of a column have; undefined if nobody answers. */
export type ChooseType = (column: string, found: FittingTypes) => Promise<CellType | undefined>;

/** The same as `inferFromRows`, after questions about the columns that can be read in several ways. */
export async function inferWithQuestions(
  rows: readonly RowBlock[],
  inputs: Inputs,
  given: UploadMapping,
  { words, choose }: { readonly words: Wording; readonly choose?: ChooseType | undefined },
): Promise<ReturnType<typeof inferFromRows>> {
  try {
    return inferFromRows(rows, inputs, given, words);
  } catch (error) {
    if (!(error instanceof AmbiguousColumnError)) throw error;
    const type = await choose?.(error.column, error.found);
    if (type === undefined) throw error;
    const types = new Map([...given.types, [error.column, type]]);
    return inferWithQuestions(rows, inputs, { ...given, types }, { words, choose });
  }
}

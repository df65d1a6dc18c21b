import path from 'node:path';
import { EngagectlError } from '../errors.js';
import { didYouMean, describeSchemaIssues } from '../did-you-mean.js';
import { quoteForShell } from '../wording.js';
import { readTextFile } from '../files/read-file.js';
import { fileErrorReason } from '../files/file-errors.js';
import { parseStrictJson } from '../text/json-parser.js';
import {
  cellTypes,
  isCellType,
  typePattern,
  type CellType,
  type Constant,
  type Expectations,
  type UploadMapping,
} from './upload-mapping.js';
import { loadFormats, localizedType } from './cell-formats.js';
import { formattedWriter } from './cell-types.js';
import type { MappingFile } from './mapping-file-schema.js';

/** Column flags of `upload`, as typed. */
export interface ColumnFlags {
  readonly identity?: string;
  readonly objectId?: string;
  readonly map?: readonly string[];
  readonly types?: readonly string[];
  /** Language tag such as de-DE, for dates, numbers and booleans without a format. */
  readonly locale?: string;
  readonly drop?: readonly string[];
  readonly only?: readonly string[];
  readonly set?: readonly string[];
  readonly lowercase?: readonly string[];
  /** Path of a mapping file, which contains all of the above. */
  readonly mapping?: string;
}

export type ColumnMapping = Pick<
  UploadMapping,
  | 'identity'
  | 'identityGiven'
  | 'objectId'
  | 'map'
  | 'types'
  | 'drop'
  | 'only'
  | 'constants'
  | 'lowercase'
  | 'cleaning'
  | 'expected'
>;

interface MappingContext {
  readonly cwd: string;
  readonly signal?: AbortSignal;
}

/** Combines flags and mapping file; flags take precedence. Reads the file unless it is given. Throws E-USAGE, E-FILE-READ. */
export async function loadMapping(
  flags: ColumnFlags,
  context: MappingContext,
  given?: MappingFile,
): Promise<ColumnMapping> {
  const file =
    given ?? (flags.mapping === undefined ? {} : await readMappingFile(flags.mapping, context));
  const identity = flags.identity ?? file.identity;
  const objectId = flags.objectId ?? file.objectId;
  const types = [
    ...Object.entries(file.types ?? {}),
    ...unambiguous('--types', (flags.types ?? []).flatMap(parseTypes)),
  ];
  await loadFormats(types.map(([, type]) => type));
  const hasOnly = file.only !== undefined || flags.only !== undefined; // an empty list keeps no column
  const only = [...(file.only ?? []), ...(flags.only ?? []).flatMap(splitList)];
  return {
    identity: identity ?? 'identity',
    identityGiven: identity !== undefined,
    ...(objectId !== undefined && { objectId }),
    map: checkedKeys([
      ...Object.entries(file.map ?? {}),
      ...unambiguous('--map', (flags.map ?? []).map(parseMap)),
    ]),
    types: checkedTypes(types, flags.locale),
    drop: new Set([...(file.drop ?? []), ...(flags.drop ?? [])]),
    ...(hasOnly && { only: new Set(only) }),
    constants: new Map<string, Constant>([
      ...Object.entries(file.set ?? {}),
      ...unambiguous('--set', (flags.set ?? []).map(parseSet)),
    ]),
    lowercase: new Set([...(file.lowercase ?? []), ...(flags.lowercase ?? []).flatMap(splitList)]),
    ...cleaningOf(file),
    ...expectationsOf(file),
  };
}

const cleaningOf = ({ trim, nullValues }: MappingFile): Pick<UploadMapping, 'cleaning'> =>
  trim === undefined && nullValues === undefined
    ? {}
    : { cleaning: { ...(trim && { trim }), ...(nullValues && { nullValues }) } };

/** Refuses keys that would be properties of the user beside the user's own identifier. Throws E-USAGE. */
function checkedKeys(
  map: readonly (readonly [column: string, key: string])[],
): Map<string, string> {
  for (const [column, key] of map) {
    const flag = key === 'identity' ? '--identity' : key === 'objectId' ? '--object-id' : undefined;
    if (flag === undefined) continue;
    throw new EngagectlError(
      'E-USAGE',
      `the column ${JSON.stringify(column)} is mapped to ${key}`,
      {
        why: `that would be a property of this name; the user is identified by ${flag}`,
        fix: `${flag} ${quoteForShell(column)}`,
      },
    );
  }
  return new Map(map);
}

const splitList = (list: string): string[] => list.split(',');

/** Applies the locale to types without a format, and checks all formats. Throws E-USAGE. */
function checkedTypes(
  types: readonly (readonly [column: string, type: CellType])[],
  locale: string | undefined,
): Map<string, CellType> {
  return new Map(
    types.map(([column, type]) => {
      const full = locale === undefined ? type : (localizedType(type, locale) as CellType);
      if (full.endsWith(')')) formattedWriter(full);
      return [column, full];
    }),
  );
}

/** Returns what the file expects of an input. */
function expectationsOf(file: MappingFile): { readonly expected?: Expectations } {
  const { required = [], columns, values = {}, records } = file;
  const members = [file.required, columns, file.values, records];
  if (members.every((member) => member === undefined)) return {};
  return {
    expected: {
      required: new Set(required),
      isExact: columns === 'exact',
      values: new Map(Object.entries(values).map(([column, list]) => [column, new Set(list)])),
      minRecords: records?.min ?? 0,
    },
  };
}

/** Throws E-USAGE for a column with two values, because the last one would silently win. */
function unambiguous<T extends string>(
  flag: string,
  pairs: readonly [column: string, value: T][],
): Map<string, T> {
  const values = new Map<string, T>();
  const noun = flag === '--set' ? 'key' : 'column';
  for (const [column, value] of pairs) {
    const before = values.get(column) ?? value;
    if (before !== value) {
      throw new EngagectlError(
        'E-USAGE',
        `${flag}: ${noun} ${JSON.stringify(column)} is named twice`,
        {
          why: `once for ${before}, once for ${value}`,
          fix: 'remove one of them',
        },
      );
    }
    values.set(column, value);
  }
  return values;
}

/** Parses `column=key`, split at the last `=`, because a column name may contain one. */
function parseMap(text: string): [column: string, key: string] {
  const at = text.lastIndexOf('=');
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
  throw new EngagectlError('E-USAGE', `--map "${text}" is not <column>=<new name>`, {
    why: 'expected a column of the input, =, and the key under which it is sent',
    fix: '--map mail=Email sends column "mail" as "Email"',
  });
}

/** Parses `key=value`, split at the first `=`, because a value may contain one. */
function parseSet(text: string): [key: string, value: string] {
  const at = text.indexOf('=');
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
  throw new EngagectlError('E-USAGE', `--set "${text}" is not <key>=<value>`, {
    why: 'expected the key under which it is sent, =, and the value of every record',
    fix: '--set Source=import sends "Source":"import" with every record',
  });
}

/** Parses `column:type,…`. Each entry ends at a type, so that column names may contain `:` and `,`. */
function parseTypes(text: string): [column: string, type: CellType][] {
  const types: [string, CellType][] = [];
  const entry = new RegExp(`(.+?):(${typePattern})(?:,|$)`, 'gsy');
  for (const [, column = '', type] of text.matchAll(entry)) types.push([column, type as CellType]);
  const read = types.map(([column, type]) => `${column}:${type}`).join(',');
  if (read === text.replace(/,$/, '') && types.length > 0) return types;
  const words = Array.from(text.matchAll(/:(\w+)(?=,|$)/g), ([, word = '']) => word);
  const wrong = words.find((word) => !isCellType(word)) ?? '';
  const meant = didYouMean(wrong, cellTypes);
  throw new EngagectlError(
    'E-USAGE',
    `--types "${text}" is not a list of <column>:<type>${meant}`,
    {
      why: `types are ${cellTypes.join(', ')}, phone(DE) and phone:+91 (any country), list(;), or one with a format`,
      fix: '--types Age:integer,Born:date',
    },
  );
}

/** Reads a mapping file. Loads zod, for which other uploads need not wait. */
async function readMappingFile(name: string, context: MappingContext): Promise<MappingFile> {
  const { mappingFileSchema } = await import('./mapping-file-schema.js');
  // zod drops the key `__proto__`.
  const [proto, standIn] = ['__proto__', '\u0000__proto__'];
  const json = renameColumn(await readJson(name, context), proto, standIn);
  const parsed = mappingFileSchema.safeParse(json);
  if (parsed.success) return renameColumn(parsed.data, standIn, proto);
  const members = Object.keys(mappingFileSchema.shape);
  throw new EngagectlError('E-USAGE', `${name}: ${describeSchemaIssues(parsed.error, members)}`, {
    why: `the members of a mapping file are ${members.join(', ')}`,
    fix: `correct ${name}`,
    file: name,
  });
}

/** Members of a mapping file that are objects with a key per column. */
const columnMembers = new Set(['map', 'types', 'set', 'values']);

/** Renames a column in all members of a mapping file; anything else is returned as it is. */
function renameColumn<File>(file: File, from: string, to: string): File {
  if (!isObject(file)) return file;
  const renamed = Object.entries(file).map(([member, part]: [string, unknown]) => {
    if (!columnMembers.has(member) || !isObject(part)) return [member, part];
    const entries = Object.entries(part).map(([key, value]) => [key === from ? to : key, value]);
    return [member, Object.fromEntries(entries)];
  });
  return Object.fromEntries(renamed) as File;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function readJson(file: string, { cwd, signal }: MappingContext): Promise<unknown> {
  const text = await readTextFile(path.resolve(cwd, file), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-FILE-READ', `cannot read the mapping file ${file}`, {
      why: fileErrorReason(cause),
      fix: 'give a readable JSON file with --mapping',
      file,
      cause,
    });
  });
  return parseStrictJson(text, file, {
    id: 'E-USAGE',
    why: 'a mapping file contains one JSON object',
    fix: 'correct it; for example {"identity":"Id","map":{"mail":"Email"},"types":{"Age":"integer"},"drop":["Note"]}',
  });
}

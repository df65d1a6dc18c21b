import { EngagectlError } from '../../errors.js';
import { loadMapping, type ColumnMapping } from '../../mapping/mapping-file.js';
import { parts, subscribeMapper, type SubscribeMapping } from '../../mapping/subscribe-mapper.js';
import { inputFingerprint } from '../input-files.js';
import { checkField } from '../../mapping/preview/findings.js';
import { FieldProfile } from '../../mapping/preview/field-statistics.js';
import { RecordSample, type CountedRecords } from '../../mapping/record-block.js';
import { JsonParser } from '../../text/json-parser.js';
import { TextSlice } from '../../text/text-slice.js';
import { runWrite } from './run-write.js';
import type { WriteResult } from '../job-results.js';
import type { JobContext } from '../job-context.js';
import type { SubscribeOptions } from '../job-options.js';
import type { Remarks, WriteHooks, WriteRequest } from './write-request.js';

/** Sets the subscription status of phone numbers, WhatsApp numbers and email addresses. */
export async function subscribe(
  given: WriteRequest & SubscribeOptions,
  context: JobContext,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const { type, status } = given;
  const mapping = await subscribeMapping(given, context);
  const request = { ...mapping.cleaning, ...given };
  const keyColumns = valueColumns(mapping);
  return runWrite(
    {
      name: 'subscribe',
      listColumn: type && status && 'value',
      keyColumns,
      fingerprinted: { ...inputFingerprint(request), type, status, ...mappingFingerprint(mapping) },
      frame: ['{"d":[', ']}'],
      mapper: () => subscribeMapper(mapping),
      keys: keyColumns,
      remarks: (isCheck) => addressRemarks(mapping, isCheck),
    },
    request,
    context,
    hooks,
  );
}

/** Builds the mapping of rows to subscriptions. Throws E-USAGE, E-FILE-READ. */
export async function subscribeMapping(
  { type, status, retryUnknown = false, map, types, lowercase, mapping }: SubscribeOptions,
  { runtime }: Pick<JobContext, 'runtime'>,
): Promise<SubscribeMapping> {
  const flags = {
    ...(map && { map }),
    ...(types && { types }),
    ...(lowercase && { lowercase }),
    ...(mapping !== undefined && { mapping }),
  };
  const loaded = await loadMapping(flags, runtime);
  refuseOtherMembers(loaded, mapping);
  return {
    ...(type && { type }),
    ...(status && { status }),
    columns: columnsByPart(loaded.map),
    types: loaded.types,
    lowercase: loaded.lowercase,
    cleaning: loaded.cleaning,
    retryUnknown,
  };
}

/** Throws E-USAGE for a mapping file of an upload, most of which would have no effect. */
function refuseOtherMembers(
  { identityGiven, objectId, drop, only, constants, expected }: ColumnMapping,
  file: string | undefined,
): void {
  const isUsed = identityGiven || drop.size > 0 || constants.size > 0;
  if (!isUsed && (objectId ?? only ?? expected) === undefined) return;
  throw new EngagectlError('E-USAGE', `${file}: not a mapping file of subscriptions`, {
    why: 'it has members besides map, types, lowercase, trim and nullValues',
    fix: 'write a mapping file for this input',
  });
}

/** Throws E-USAGE for a key that is not a part of a subscription, and for a part with two columns. */
function columnsByPart(map: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const columns = new Map<string, string>();
  for (const [column, part] of map) {
    const isPart = parts.some((name) => name === part);
    if (isPart && !columns.has(part)) {
      columns.set(part, column);
      continue;
    }
    throw new EngagectlError('E-USAGE', `column ${JSON.stringify(column)} cannot be "${part}"`, {
      why: isPart
        ? 'another column is it, too'
        : 'a subscription consists of type, value and status',
      fix: 'map each of them once, for example --map phone=value',
    });
  }
  return columns;
}

/** Returns the mapping for the fingerprint of a run; empty if it has none. */
const mappingFingerprint = ({ columns, types, lowercase }: SubscribeMapping) => ({
  ...(columns.size > 0 && { columns: [...columns] }),
  ...(types.size > 0 && { types: [...types] }),
  ...(lowercase.size > 0 && { lowercase: [...lowercase] }),
});

/** Columns of which every table of subscriptions has one: that of the addresses. */
export const valueColumns = ({ columns }: Pick<SubscribeMapping, 'columns'>): readonly [string] => [
  columns.get('value') ?? 'value',
];

/**
 * Finds numbers and addresses that the service rejects: among all with `isCheck`, otherwise in a copy of the first records.
 */
function addressRemarks({ columns, types }: SubscribeMapping, isCheck: boolean): Remarks {
  const [column] = valueColumns({ columns });
  const fields = { phone: fieldOf('Phone'), email: fieldOf('Email') };
  const json = new JsonParser();
  const text = new TextSlice();
  const add = ({ rows: { source, lines }, row, json: bytes, ...block }: CountedRecords) => {
    for (let at = 0; at < block.count; at++) {
      json.read(bytes, block.bounds[2 * at]!, block.bounds[2 * at + 1]!);
      const isEmail = json.stringAt(json.find('type'), text)?.toString() === 'email';
      const value = json.stringAt(json.find('value'), text)!;
      const place = { source, line: lines[row[at]!] ?? 0 };
      const field = isEmail ? fields.email : fields.phone;
      field.addScalar('string', value.toString(), value.end - value.start, place);
    }
  };
  const sample = new RecordSample();
  return {
    look: (block) => {
      if (isCheck) add(block);
      else sample.add(block);
      return [];
    },
    found: () => {
      for (const block of sample.blocks) add(block);
      const statistics = { has: () => true, hasJson: false };
      const found = Object.values(fields).flatMap((field) =>
        checkField(field, column, statistics, { types, map: new Map() }),
      );
      return found.map((hint) => {
        return { ...hint, isReported: false };
      });
    },
  };
}

const fieldOf = (key: 'Phone' | 'Email') => new FieldProfile('profileData', key);

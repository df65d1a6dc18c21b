import type { UploadMapping } from '../upload-mapping.js';
import type { Field } from './field.js';
import { fieldRules } from './field-rules.js';
import type { Finding, Mistake } from './mistake.js';
import type { RejectReasons } from './reject-reasons.js';
import { rejectRules } from './reject-rules.js';
import type { Survey } from './survey.js';

/** Likely mistakes in what was surveyed: those first that leave records out. */
export function mistakesOf(survey: Survey, mapping: UploadMapping): readonly Mistake[] {
  const columnOf = columnNames(mapping);
  const hasKey = (key: string) => survey.fields.has('profileData', key);
  const flag = (text: string) =>
    survey.hasJson ? `${text} where rows are flat, else in the records themselves` : text;
  const found = [...survey.fields]
    .filter(({ count }) => count > 0)
    .flatMap((field) => {
      const column = columnOf(field);
      return Object.entries(fieldRules).flatMap(([id, rule]) => {
        const finding = rule(field, { column, hasKey, flag });
        return finding ? [mistake(id, column, field.count, finding)] : [];
      });
    });
  const refused = found.filter(({ code }) => code !== null);
  const others = found.filter(({ code }) => code === null);
  return [...ofRejects(survey.rejects), ...refused, ...ofSurvey(survey), ...others];
}

/** From a key as it is sent to the name of its column; the mapping says which were renamed. */
export function columnNames(mapping: UploadMapping): (field: Field) => string {
  const columns = new Map([...mapping.map].map(([column, key]) => [key, column]));
  return ({ part, key }) => {
    if (part === 'record' && key === 'identity') return mapping.identity;
    if (part === 'record' && key === 'objectId') return mapping.objectId ?? key;
    return columns.get(key) ?? key;
  };
}

/** Rows that break a local rule are mistakes for certain. */
function ofRejects({ reasons }: RejectReasons): Mistake[] {
  return rejectRules.flatMap(({ id, pattern, fix }) =>
    [...reasons]
      .filter(([reason]) => pattern.test(reason))
      .map(([, seen]) => mistake(id, null, seen.count, { what: seen.example, fix, seen })),
  );
}

function ofSurvey({ fields, tooManyKeys }: Survey): Mistake[] {
  const found: Mistake[] = [];
  if (tooManyKeys) {
    const what = `a record may have 256 custom keys or properties, and some have ${tooManyKeys.example}`;
    const fix = 'choose columns with --only or --drop';
    found.push(mistake('too-many-keys', null, tooManyKeys.count, { what, fix, seen: tooManyKeys }));
  }
  if (fields.tooMany) {
    const what = 'there are more than 2,000 different keys: some may be values';
    found.push(mistake('too-many-fields', null, 0, { what, fix: 'look at how the keys are made' }));
  }
  return found;
}

const mistake = (
  id: string,
  column: string | null,
  count: number,
  { what, fix, code, seen }: Finding,
): Mistake => ({
  id,
  column,
  count: seen?.count ?? count,
  what,
  fix,
  code: code ?? null,
  source: seen?.source ?? null,
  line: seen?.line ?? null,
});

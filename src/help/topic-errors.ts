import { errorNotes, type ErrorNote } from '../error-explanations.js';
import { EngagectlError, errorIds, type ErrorId } from '../errors.js';
import { nearest } from '../did-you-mean.js';
import type { Topic } from './topics.js';

/** One id explained, or all of them listed. Throws E-USAGE for an id that does not exist. */
export const errorsTopic = (id: string | undefined): Topic =>
  id === undefined ? listTopic() : explained(idOf(id));

const ids = Object.keys(errorIds) as ErrorId[];
const longestId = Math.max(...ids.map((id) => id.length));

const listTopic = (): Topic => ({
  examples: [
    ['one of them', 'engagectl help errors E-UNAVAILABLE'],
    ['the numbers', 'engagectl help exit-codes'],
  ],
  parts: [
    'An error says what happened to which thing, why, and what to type next. Its id never changes ' +
      'its meaning.',
    ...[...new Set(Object.values(errorIds))].map((code) => ({
      heading: `Exit code ${code}:`,
      rows: ids
        .filter((id) => errorIds[id] === code)
        .map((id) => [id.padEnd(longestId), errorNotes[id].means] as const),
    })),
  ],
});

function explained(id: ErrorId): Topic {
  const { means, causes, next }: ErrorNote = errorNotes[id];
  return {
    examples: [],
    parts: [
      `${id}, exit code ${errorIds[id]}: ${means}.`,
      { heading: 'Usual causes:', rows: listed(causes) },
      { heading: 'What to do next:', rows: listed(next) },
    ],
  };
}

const listed = (lines: readonly string[]) => lines.map((line) => ['-', line] as const);

/** In any case, with or without `E-`. */
function idOf(text: string): ErrorId {
  const wanted = `E-${text.toUpperCase().replace(/^E-/, '')}`;
  const found = ids.find((id) => id === wanted);
  if (found !== undefined) return found;
  const begun = ids.filter((id) => id.startsWith(wanted));
  const like = begun.length > 0 ? begun : [nearest(wanted, ids) ?? []].flat();
  const near = like.map((id) => `engagectl help errors ${id}`);
  throw new EngagectlError('E-USAGE', `there is no error "${text}"`, {
    why: 'no error message bears such an id',
    fix: near.length > 0 ? `did you mean: ${near.join(', ')}` : 'engagectl help errors',
  });
}

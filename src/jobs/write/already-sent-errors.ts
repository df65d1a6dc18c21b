import { EngagectlError, countOf, type ErrorId } from '../../errors.js';
import { lineExtended, type MatchedText } from '../../input/digest-check.js';
import { zoneNameOf, type LedgerEntry, type LedgerStart } from '../run/sent-files-ledger.js';
import type { WriteEntry } from '../../bulk/outcomes/journal-entries.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { OpenRun } from '../run/open-run.js';
import type { RememberedEvents } from './open-event-memory.js';
import type { Wording } from '../job-context.js';
import type { WriteContext } from './write-request.js';

/** An input that another run sent, or whose beginning it sent. */
interface FoundInput {
  readonly name: string;
  readonly line: LedgerEntry;
}

/** An input with the beginning of an input of a run that has not sent all of it. */
export interface StartedInput {
  readonly name: string;
  readonly start: LedgerStart;
}

/** Builds the error for an input that another run sent; `resume`: this run would have continued after it. */
export function alreadySent(
  { name, isWhole, line }: FoundInput & Pick<MatchedText, 'isWhole'>,
  { option }: Wording,
  resume = false,
): EngagectlError {
  const { run, finished, once } = line;
  const what = isWhole ? 'was sent' : 'starts with what was sent';
  const records = once.includes('event') ? 'events' : 'records';
  const next = resume ? 'run the same command again: it' : option('resume');
  return new EngagectlError(
    'E-ALREADY-SENT',
    `${name} ${what} on ${finished.slice(0, 10)} by run ${run}`,
    {
      why: `sending it again would duplicate ${records}; none of these was sent`,
      fix: isWhole
        ? `${next} sends only records added since; ${option('again')} resends all of it`
        : `${next} sends only what was added; ${option('again')} resends all of it`,
      resumes: true,
      file: name,
    },
  );
}

/** An input of which another run sent more than the resumed run has read. */
export interface SentBeyond extends FoundInput {
  /** Only the run that is resumed knows what was sent of the inputs before: without it, they would be sent again. */
  readonly isOnlyHere: boolean;
}

/** Builds the error for an input of which another run sent more than the run that is resumed. */
export function sentBeyond(
  { name, line, isOnlyHere }: SentBeyond,
  { run, words: { option } }: { readonly run: string; readonly words: Wording },
): EngagectlError {
  const what = `${name} was sent on ${line.finished.slice(0, 10)} by run ${line.run}`;
  return new EngagectlError('E-ALREADY-SENT', what, {
    ...(isOnlyHere
      ? {
          why: `the unfinished run ${run} would send it a second time`,
          fix: `keep run ${run}, because only it knows what it sent of the inputs before; ${option('again')} sends the rest of them, and ${name} again`,
        }
      : {
          why: `the unfinished run ${run} sent a part of it once more; the rest would be sent twice, too`,
          fix: `discard that run with "engagectl runs prune ${run}", then rerun with ${option('resume')}; ${option('again')} resends the rest`,
        }),
    file: name,
  });
}

/** Builds the error for an input that goes on in the last line that was sent. */
export const lastLineChanged = ({ name, line: { run } }: FoundInput, { option }: Wording) =>
  new EngagectlError('E-INPUT-CHANGED', `${name} has changed since run ${run} sent it`, {
    why: lineExtended,
    fix: `restore that line, and put what is new on lines of its own; ${option('again')} sends all of it`,
    file: name,
  });

/** Builds the error for a sent input after a new one, or one of events: a run can only start after sent inputs. */
export const sentLate = ({ name, line: { run, finished } }: FoundInput, { option }: Wording) =>
  new EngagectlError(
    'E-ALREADY-SENT',
    `${name} was sent on ${finished.slice(0, 10)} by run ${run}`,
    {
      why: 'a new input, or one of events, comes before it, and a run can only start after inputs that were sent',
      fix: `omit it, or list it before those; ${option('again')} resends all of them`,
      file: name,
    },
  );

/** Builds the error for an input that a run sent with another division into shards. */
export function otherShards(
  { name, line: { run, finished, shard: other } }: FoundInput,
  shard: string | undefined,
  { option }: Wording,
): EngagectlError {
  const [was, is] = [other, shard].map((one) => (one ? `as shard ${one}` : 'undivided'));
  const day = finished.slice(0, 10);
  return new EngagectlError('E-ALREADY-SENT', `${name} was sent ${was} on ${day} by run ${run}`, {
    why: `sending it ${is} would duplicate some of its records`,
    fix: `use the same shards as before, or resend it with ${option('again')}`,
    file: name,
  });
}

/** Builds the error for an input of which a run sent a part; `isReadable`: the run can be resumed. */
export function startedError(
  { name, start: { run, started, limit, isFinished, sources } }: StartedInput,
  { option, resumeRun }: Wording,
  { isReadable }: { readonly isReadable: boolean },
): EngagectlError {
  const isPart = limit !== undefined && isFinished === true;
  const more = sources.length - 1; // records are counted across all inputs
  const of = more > 0 ? ` of ${sources[0]!.name} and ${countOf(more, 'other input')}` : '';
  const first = `the first ${countOf(limit ?? 0, 'record')}${of}`;
  const sent = isPart ? `has sent ${first}` : 'has not sent all of it';
  const finish = isReadable ? `wait for it, or finish it with ${resumeRun(run)}; ` : '';
  const others = isPart ? 'remove those from the input to send the others; ' : finish;
  const what = `${name} begins like the input of run ${run}, which ${sent}`;
  return new EngagectlError('E-ALREADY-SENT', what, {
    why: `that run started on ${started.slice(0, 10)}; sending the same records again would duplicate them`,
    fix: `${others}${option('again')} sends all of it`,
    file: name,
  });
}

/** Builds the error for records that were sent with other options; `what`: which ones, with their verb. */
export function otherOptions(
  { name, what = `${name} was`, ...found }: OtherwiseSentInput,
  is: Readonly<Record<string, unknown>>,
  { option }: Wording,
): EngagectlError {
  const line = 'start' in found ? found.start : found.line;
  const was: Readonly<Record<string, unknown>> = {
    ...(line.options ?? is),
    timezone: zoneNameOf(line),
  };
  const differing = [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((key) => JSON.stringify(was[key]) !== JSON.stringify(is[key]))
    .map((key) =>
      key === 'timezone' ? option(key, zoneNameOf(line)) : option(optionNames[key] ?? key),
    );
  const day = ('finished' in line ? line.finished : line.started).slice(0, 10);
  return new EngagectlError(
    'E-ALREADY-SENT',
    `${what} sent on ${day} by run ${line.run} with other options: ${differing.join(', ')}`,
    {
      why: 'the same records would be sent a second time in another form; none of these was sent',
      fix: `use the options of that run with ${option('resume')}, or remove the records that were sent; ${option('again')} sends all of it in the new form`,
      file: name,
    },
  );
}

export type OtherwiseSentInput = { readonly name: string; readonly what?: string } & (
  { readonly line: LedgerEntry | LedgerStart } | Pick<StartedInput, 'start'>
);

/** Options whose name differs from their member among the fingerprinted options. */
const optionNames: Readonly<Record<string, string>> = {
  kind: 'type',
  identityGiven: 'identity',
  tsNow: 'ts',
  expected: 'mapping',
  cleaning: 'mapping',
};

/**
 * Whether another run sent the records that this one came to first which are not idempotent. It cannot be resumed: it
 * would be refused again, and to send the others again does no harm.
 */
export const wasSentByOther = (
  stopped: EngagectlError | undefined,
  { log }: Pick<Tally, 'log'>,
): boolean => stopped?.id === 'E-ALREADY-SENT' && log.nonIdempotent.size === 0;

/** Errors whose advice is to rerun the command. */
const advisesRerun = new Set<ErrorId>([
  'E-UNAVAILABLE',
  'E-REJECTED',
  'E-FILE-WRITE',
  'E-REJECTS-CHANGED',
]);

/**
 * Advises how to send the rest instead of rerunning the command, if it sent records that are not safe to resend, and
 * cannot be resumed. Returns undefined if it can be rerun; `done`: the whole input was processed.
 */
export function withoutRerun(
  { stop, done }: { readonly stop: EngagectlError | undefined; readonly done: boolean },
  { kind: { name }, inputs, context: { words } }: WriteContext,
  { run, tally, events }: StoppedWrite,
): EngagectlError | undefined {
  const { counts, rejects, samples } = tally;
  const { accepted, unknown, rejected, read, notSent, otherShards = 0 } = counts;
  if (!stop || run.kept || canRerun(tally, events) || accepted + unknown === 0) return undefined;
  const { id, message, details } = stop;
  const isPiped = inputs.totalBytes === undefined;
  const isListed = rejects.missing === 0 && (samples.kinds.get('notSent')?.count ?? 0) === notSent;
  const first = countOf(read + otherShards, 'record');
  const how =
    unknown > 0
      ? `${words.lookUp(rejects.path)}; ${words.resend(rejects.path)}`
      : words[rejected > 0 ? 'correct' : 'sendRest'](name, rejects.path);
  const advice = [
    !advisesRerun.has(id) && details.fix,
    `do not rerun: ${countOf(accepted + unknown, 'record')} would be sent twice`,
    isListed ? rejects.exists && how : 'remove them from the input before you send it again',
    isListed && !done && `if the input has more, send it without its first ${first}`,
    isPiped && !(isListed && done) && `${words.option('runName', '<name>')} makes a pipe resumable`,
  ];
  const fix = advice.filter(Boolean).join('; ');
  return new EngagectlError(id, message, { ...details, fix, resumes: false });
}

/** Whether the records that were sent so far may be sent again, or are remembered. */
export const canRerun = ({ log }: Pick<Tally, 'log'>, events: RememberedEvents | undefined) =>
  [...log.nonIdempotent].every((of) => of === 'event' && events);

interface StoppedWrite {
  readonly run: Pick<OpenRun<WriteEntry>, 'kept'>;
  readonly tally: Tally;
  /** Set if events that were sent are remembered. */
  readonly events: RememberedEvents | undefined;
}

import { writeEndpoints, type WriteEndpoint } from '../../contract/endpoints.js';
import { inputFormatOfName } from '../../contract/file-formats.js';
import { confirmIrreversible, confirmWrite } from '../../ui/prompt.js';
import {
  suggestCommand,
  inputFlags,
  dryRunFlags,
  writeOnlyFlags,
  type TypedCommand,
} from './suggested-command.js';
import { requireInput } from '../flags/input-flags.js';
import { resumeAdvice, runJob, hasResumeAdvice } from './run-job.js';
import { resolveShard } from '../flags/shard-flags.js';
import type { Account } from '../../config/account.js';
import type { Rehearsal } from '../../jobs/job-options.js';
import type { WriteResult } from '../../jobs/job-results.js';
import type { ConfirmPrompt, WriteHooks, WriteRequest } from '../../jobs/write/write-request.js';
import type { JobContext } from '../../jobs/job-context.js';
import type { Runtime } from '../../runtime.js';
import type { Invocation } from './command-spec.js';
import type { WriteFlags } from '../flags/write-flags.js';

/** A write as requested on the command line. */
interface WriteCommand<Flags> {
  readonly name: WriteEndpoint;
  /** Verb phrase for prompts; default: that of the table of writes. */
  readonly does?: string;
  /** Noun for its records, like `users`; default likewise. */
  readonly nouns?: string;
  readonly job: (
    request: WriteRequest & Omit<Flags, 'rehearsal' | 'shard'>,
    context: JobContext,
    hooks: WriteHooks,
  ) => Promise<WriteResult>;
}

/** More files than this on a command line were a glob pattern, and are not repeated in messages. */
const mostTyped = 20;

interface PendingWrite extends ConfirmPrompt {
  readonly command: WriteEndpoint;
  readonly does: string;
  readonly files: readonly string[];
  readonly flags: WriteFlags;
  readonly account: Account;
}

/** Runs a write from its flags to its summary. Throws the error that the command ends with. */
export async function runWrite<Flags extends WriteFlags>(
  call: Pick<Invocation<Flags>, 'operands' | 'flags' | 'command' | 'runtime' | 'settings'>,
  { name, job, ...words }: WriteCommand<Flags>,
): Promise<void> {
  const { verb, noun, does, dryRun, mostInFlight } = writeEndpoints[name];
  const { operands: files, flags, runtime } = call;
  requireInput(files, call);
  const { settings, ...ours } = resolveShard(call);
  const request = {
    ...flags,
    ...ours,
    files,
    rehearsal: flags.check ? 'check' : flags.dryRun ? 'dryRun' : undefined,
    ...(flags.strict && { maxRejects: { records: 0 } }),
  } as const;
  const typed = { command: call.command, argv: settings.argv };
  // A dry run is a check if the endpoint does not offer one.
  const rehearsal = request.rehearsal && !dryRun ? 'check' : request.rehearsal;
  await runJob(
    {
      name,
      flags,
      files,
      concurrency: flags.concurrency === 'auto' ? mostInFlight : flags.concurrency,
      verb,
      nouns: words.nouns ?? noun,
      rehearsal,
      again: (file, retriesUnknown = false) => resendCommand(file, typed, retriesUnknown),
      settle: (file) => settleCommand(name, file, typed),
      next: isTypable(files) ? nextCommand({ name, rehearsal, files }, typed) : undefined,
      reads: false,
      advise: (error, { unfinished, run }, messages) => {
        if (unfinished && !hasResumeAdvice(error))
          messages.note(`unfinished: ${resumeAdvice(files, run)}`);
      },
      stopping:
        'stopping: waiting up to 10 s for requests in flight; press Ctrl-C again to quit now',
      job: async (context, hooks) => {
        const pending = (about: ConfirmPrompt): PendingWrite => {
          const { account } = context.connection!;
          return { command: name, does: words.does ?? does, files, flags, account, ...about };
        };
        const writeHooks = {
          ...hooks,
          confirm: async (about: ConfirmPrompt) => confirm(pending(about), runtime),
        };
        return job(request, context, writeHooks);
      },
    },
    settings,
    runtime,
  );
}

const isTypable = (files: readonly string[]): boolean =>
  files.length > 0 && files.length <= mostTyped && !files.includes('-');

/** Returns the typed command for a rejects file; `retriesUnknown`: with `--retry-unknown`. */
function resendCommand(file: string, typed: TypedCommand, retriesUnknown: boolean): string {
  if (!retriesUnknown) return commandOnRejects(file, typed, inputFlags);
  return `${commandOnRejects(file, typed, [...inputFlags, 'retry-unknown'])} --retry-unknown`;
}

/** Suggests a command for a rejects file. One that `--rejects` named like a JSON array is NDJSON, too. */
function commandOnRejects(file: string, typed: TypedCommand, without: readonly string[]): string {
  const format = inputFormatOfName(file) === 'json' ? ' --input-format ndjson' : '';
  return `${suggestCommand(typed, [file], without)}${format}`;
}

/** Suggests the write after a dry run, and `verify` after a write that can be verified. */
function nextCommand(
  {
    name,
    rehearsal,
    files,
  }: Pick<WriteRequest, 'files'> & { name: WriteEndpoint; rehearsal?: Rehearsal | undefined },
  typed: TypedCommand,
): string | undefined {
  if (rehearsal) return suggestCommand(typed, files, dryRunFlags);
  const { verify } = writeEndpoints[name];
  return verify && suggestCommand({ ...typed, name: verify }, files, writeOnlyFlags);
}

/** Returns the command that looks up records of unknown outcome; undefined if there is none. */
const settleCommand = (
  name: WriteEndpoint,
  file: string,
  typed: TypedCommand,
): string | undefined =>
  writeEndpoints[name].settles
    ? commandOnRejects(file, { ...typed, name: 'verify --settle --within 10m -o open.ndjson' }, [
        ...inputFlags,
        ...writeOnlyFlags,
      ])
    : undefined;

/**
 * Asks for confirmation of a write that cannot be undone, or to a config profile that is marked production. Returns
 * whether a person was asked.
 */
async function confirm(pending: PendingWrite, runtime: Runtime): Promise<boolean> {
  const { account, flags, piped, identities, ...write } = pending;
  const { irreversible } = writeEndpoints[write.command];
  if (irreversible) {
    const { count = 0, first: firstIdentities = [] } = identities ?? {};
    const asking = { yes: flags.yes === true, inputIsStdin: piped };
    const about = { ...account, ...write, irreversible, count, firstIdentities };
    return confirmIrreversible(about, asking, runtime);
  }
  if (!account.production || flags.yes || flags.dryRun || piped) return false;
  return confirmWrite({ ...account, ...write }, runtime);
}

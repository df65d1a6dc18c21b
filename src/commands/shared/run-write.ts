import { writeEndpoints, type WriteEndpoint } from '../../contract/endpoints.js';
import { confirmWrite } from '../../ui/prompt.js';
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

/** A write as the command line asks for it. */
interface WriteCommand<Flags> {
  readonly name: WriteEndpoint;
  /** What it does, for people. */
  readonly does: string;
  /** What its records are, like `users`. */
  readonly nouns: string;
  readonly job: (
    request: WriteRequest & Omit<Flags, 'rehearsal' | 'shard'>,
    world: JobContext,
    hooks: WriteHooks,
  ) => Promise<WriteResult>;
  /** Last chance to refuse, before the first request. */
  readonly confirm?: typeof confirmProduction;
}

/** Files of a command line that is told: more of them were a pattern. */
const mostTyped = 20;

interface PendingWrite extends ConfirmPrompt {
  readonly command: string;
  readonly does: string;
  readonly files: readonly string[];
  readonly flags: WriteFlags;
  readonly account: Account;
}

/** Runs a write from its flags to its summary. Throws what the command must end with. */
export async function runWrite<Flags extends WriteFlags>(
  call: Pick<Invocation<Flags>, 'operands' | 'flags' | 'command' | 'runtime' | 'settings'>,
  { name, does, nouns, job, confirm = confirmProduction }: WriteCommand<Flags>,
): Promise<void> {
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
  const rehearsal = effectiveDryRun(request, name);
  await runJob(
    {
      name,
      flags,
      files,
      concurrency:
        flags.concurrency === 'auto' ? writeEndpoints[name].mostInFlight : flags.concurrency,
      nouns,
      rehearsal,
      again: (file) => suggestCommand(typed, [file], inputFlags),
      settle: (file) => settleCommand(name, file, typed),
      next: isTypable(files) ? nextCommand({ name, rehearsal, files }, typed) : undefined,
      reads: false,
      advise: (error, { unfinished, run }, said) => {
        if (unfinished && !hasResumeAdvice(error))
          said.note(`unfinished: ${resumeAdvice(files, run)}`);
      },
      stopping: 'stopping: requests in flight may finish (10 s at most); again leaves at once',
      job: async (world, hooks) => {
        const asked = (about: ConfirmPrompt): PendingWrite => {
          const { account } = world.connection!;
          return { command: name, does, files, flags, account, ...about };
        };
        const writeHooks = {
          ...hooks,
          confirm: async (about: ConfirmPrompt) => confirm(asked(about), runtime),
        };
        return job(request, world, writeHooks);
      },
    },
    settings,
    runtime,
  );
}

const isTypable = (files: readonly string[]): boolean =>
  files.length > 0 && files.length <= mostTyped && !files.includes('-');

/** The write after its rehearsal; after the write, whether it arrived. Of a demerge nothing tells. */
function nextCommand(
  {
    name,
    rehearsal,
    files,
  }: Pick<WriteRequest, 'files'> & { name: WriteEndpoint; rehearsal?: Rehearsal | undefined },
  typed: TypedCommand,
): string | undefined {
  if (rehearsal) return suggestCommand(typed, files, dryRunFlags);
  if (name === 'demerge') return undefined;
  const verify = name === 'subscribe' ? 'verify --subscriptions' : 'verify';
  return suggestCommand({ ...typed, name: verify }, files, writeOnlyFlags);
}

/** Looks records of unknown outcome up: those of uploads can be. */
const settleCommand = (
  name: WriteEndpoint,
  file: string,
  typed: TypedCommand,
): string | undefined =>
  name === 'upload' && file.endsWith('.ndjson')
    ? suggestCommand(
        { ...typed, name: 'verify --settle -o open.ndjson' },
        [file],
        [...inputFlags, ...writeOnlyFlags],
      )
    : undefined;

/** A dry run is a check where the service offers none. */
const effectiveDryRun = (
  { rehearsal }: { rehearsal: Rehearsal | undefined },
  name: WriteEndpoint,
) => (rehearsal && !writeEndpoints[name].dryRun ? 'check' : rehearsal);

/** Asks before a write to an account whose config profile is marked production (contract §7). */
async function confirmProduction(asked: PendingWrite, runtime: Runtime): Promise<void> {
  const { account, flags, piped, ...write } = asked;
  if (!account.production || flags.yes || flags.dryRun || piped) return;
  await confirmWrite({ ...account, ...write }, runtime);
}

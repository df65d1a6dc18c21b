import { basename } from 'node:path';
import { withProgramName, quoteForShell } from '../../wording.js';
import { count, grouped, textTable } from '../../ui/format.js';
import {
  listRuns,
  listUnreadable,
  type RunFolder,
  type RunHeader,
  type UnreadableRun,
} from '../../jobs/run/run-folder.js';
import { withoutTypedSecrets } from '../../redact.js';
import { EngagectlError } from '../../errors.js';
import { printAnswer, messagePrinter } from '../../ui/messages.js';
import { sanitize } from '../../ui/sanitize.js';
import { pruneRememberedEvents } from '../../jobs/write/open-event-memory.js';
import { forgetRuns, sentOperators, unfinishedProgress } from '../../jobs/run/forget-runs.js';
import { confirmByTyping, canPrompt } from '../../ui/prompt.js';
import { typedFlags, removeFlags } from '../shared/suggested-command.js';
import { cliAdvice } from '../shared/job-context.js';
import { runsFolder } from '../../config/directories.js';
import { readLedger, type LedgerEntry } from '../../jobs/run/sent-files-ledger.js';
import type { Option } from 'commander';
import type { Runtime } from '../../runtime.js';
import type { GlobalOptions } from '../shared/global-options.js';
import { age } from '../flags/value-parsers.js';
import { CommandRedirect, type Invocation, type CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

export const list: CommandSpec<{ readonly finished?: boolean }> = {
  needs: 'nothing',
  summary: 'list unfinished runs, oldest first, or finished writes',
  examples: `
    # oldest first
    engagectl runs list
    # for a script
    engagectl runs list --json
    # finished writes: what was sent, and when
    engagectl runs list --finished
  `,
  options: ['Options:', ['--finished', 'list writes that processed their whole input']],
  run: listRunsOf,
};

export const show: CommandSpec = {
  needs: 'nothing',
  summary: 'show one run: command, account, files, and its progress or result',
  operands: [['<id>', '']],
  examples: `
    # show its command, account, files and directory
    engagectl runs show 20261121-044512-7kq2
    # for a script
    engagectl runs show 20261121-044512-7kq2 --json
  `,
  run: showRun,
};

export const resume: CommandSpec = {
  summary: 'resume a run with its original command line',
  operands: [['<id>', '']],
  examples: `
    # from any directory
    engagectl runs resume 20261121-044512-7kq2
    # for a script
    engagectl runs resume 20261121-044512-7kq2 --json
  `,
  run: resumeRun,
};

export const repair: CommandSpec = {
  needs: 'nothing',
  summary: 'repair a damaged journal: keep what it proves, report all other records as unknown',
  description:
    'Keeps the outcomes before the first damaged line of the journal. When the run is resumed, no other ' +
    'record is sent: each is reported as unknown in the rejects file.',
  operands: [['<id>', '']],
  examples: `
    # repair it, then resume it
    engagectl runs repair 20261121-044512-7kq2
    engagectl runs resume 20261121-044512-7kq2
    # with a JSON summary of the outcomes that it kept
    engagectl runs repair 20261121-044512-7kq2 --json
  `,
  run: repairNamedRun,
};

const pruneOptions = [
  'Options:',
  ['--older-than <age>', 'only runs that started longer ago, such as 12h or 30d', { parse: age }],
  ['-y, --yes', 'skip the confirmation'],
] as const satisfies OptionTable;
type PruneFlags = FlagsOf<typeof pruneOptions>;

export const prune: CommandSpec<PruneFlags> = {
  needs: 'nothing',
  operands: [['[id...]', 'only these runs']],
  summary:
    'remove unfinished runs, partial files of exports, and events remembered for longer than --remember',
  examples: `
    # runs that started more than 30 days ago
    engagectl runs prune --older-than 30d
    # all unfinished runs, without confirmation
    engagectl runs prune --yes
    # one of them
    engagectl runs prune 20261121-044512-7kq2 --yes
  `,
  options: pruneOptions,
  run: pruneRuns,
};

/** `runs list`: prints unfinished runs, oldest first, or finished ones. */
async function listRunsOf({
  runtime,
  flags,
  ...call
}: Invocation<{ readonly finished?: boolean }>): Promise<void> {
  const settings = call.settings();
  if (flags.finished) return listFinished(settings, runtime);
  const runs = listRuns(runsFolder(runtime), runtime);
  const unreadable = listUnreadable(runsFolder(runtime), runtime);
  const objects = [
    ...runs.map((run) => asObject(run, runtime)),
    ...unreadable.map(unreadableRunEntry),
  ];
  for (const { path, why } of settings.json ? [] : unreadable) {
    messagePrinter(settings, runtime).warn(`the run folder ${path} cannot be read: ${why}`);
  }
  const rows = runs.map(({ header }) => [
    header.run,
    header.started,
    `${header.accountId} (${header.host})`,
    typedCommand(header),
  ]);
  const text = tableOf(['RUN', 'BEGUN', 'ACCOUNT', 'COMMAND'], rows);
  const words = objects.length === 0 ? { note: 'no unfinished runs' } : { text };
  printAnswer(settings, runtime, { runs: objects }, words);
}

/** Returns a table; empty if there are no rows. */
const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? '' : textTable([head, ...rows]);

/** `runs show`. Throws E-USAGE for an unknown id. */
async function showRun({ operands, settings, runtime }: Invocation): Promise<void> {
  const described = describeRun(operands, runtime);
  const rows = Object.entries(described).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    asText(value),
  ]);
  printAnswer(settings(), runtime, described, { text: textTable(rows) });
}

/** Formats counts as `600 accepted, 3 rejected`, without zeros, and lists with commas. */
function asText(value: unknown): string {
  if (typeof value === 'number') return grouped(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map(asText).join('; ');
  const counted = Object.entries(value).filter(([, each]) => each !== 0);
  const parts = counted.map(([name, each]) =>
    typeof each === 'number' ? `${grouped(each)} ${name}` : asText(each),
  );
  return parts.join(', ') || 'nothing yet';
}

/** Describes an unfinished run with its progress, or a finished run. */
function describeRun(operands: readonly string[], runtime: Runtime): object {
  const isUnfinished = listRuns(runsFolder(runtime), runtime).some(
    ({ header }) => header.run === operands[0],
  );
  const finished = finishedRuns(runtime).find(({ run }) => run === operands[0]);
  if (finished && !isUnfinished) return asFinished(finished);
  const run = findRun(operands, runtime, 'run');
  const progress = unfinishedProgress(run);
  return { ...asObject(run, runtime), ...(progress && { progress }) };
}

const unreadableRunEntry = ({ path, why }: UnreadableRun) => ({
  run: basename(path),
  folder: path,
  unreadable: why,
});

/** The recorded command line, quoted for a shell. */
const typedCommand = ({ argv }: RunFolder['header']): string =>
  ['engagectl', ...withoutTypedSecrets(argv).map(quoteForShell)].join(' ');

const asObject = ({ path, header }: RunFolder, { program }: Runtime) => ({
  run: header.run,
  begun: header.started,
  command: typedCommand(header),
  cwd: header.cwd,
  accountId: header.accountId,
  host: header.host,
  files: header.files,
  folder: path,
  resume: withProgramName(cliAdvice.resumeRun(header.run), program),
});

/**
 * `runs resume`: runs the recorded command line in its directory with --resume. Global flags typed now
 * replace recorded ones.
 */
async function resumeRun({ operands, runtime, command, settings }: Invocation): Promise<never> {
  const { header } = findRun(operands, runtime, 'unfinished run');
  if (header.argv.length === 0) {
    throw new EngagectlError('E-USAGE', `run ${header.run} was started by a program`, {
      why: 'it has no command line to rerun',
      fix: `the program resumes it with the same ${header.command} call and the option resume`,
    });
  }
  // A run that replaced another one, because its input had changed, was started with the id of that one.
  const own = new Set(['--resume', '--fresh', '--run']);
  const words = header.argv.filter((word, at, all) => !own.has(word) && all[at - 1] !== '--run');
  const { options } = command.parent!.parent!;
  const typed = typedFlags(options, settings().argv);
  const recorded = removeFlags(options, words, typed);
  // The address comes from the account or from a flag typed now: a run header must not decide where a
  // passcode is sent.
  const kept = removeFlags(options, recorded, ['--base-url']);
  const url = valueOf('--base-url', options, recorded);
  if (url !== undefined) {
    const now = await hostOf(kept, options, settings(), runtime);
    if (now !== header.host) throw otherAddress(header, url, now);
  }
  // An export is found by its output, and refuses another account itself.
  const meant = header.command.startsWith('export-') ? [] : ['--run', header.run];
  const end = kept.indexOf('--');
  kept.splice(end < 0 ? kept.length : end, 0, '--resume', ...meant, ...typed);
  throw new CommandRedirect(kept, header.cwd);
}

/**
 * Returns the host of the account that the words name; undefined if there is none. Runs no
 * `passcode_command`.
 */
async function hostOf(
  words: readonly string[],
  options: readonly Option[],
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<string | undefined> {
  const { resolveAccount } = await import('../../config/account.js');
  const runSettings = { ...settings, flags: new Set(settings.flags) };
  for (const name of ['profile', 'region'] as const) {
    const value = valueOf(`--${name}`, options, words);
    if (value === undefined) continue;
    Object.assign(runSettings, { [name]: value });
    runSettings.flags.add(name);
  }
  try {
    const { region, baseUrl } = await resolveAccount(runSettings, runtime, { run: noPasscode });
    return region === 'local' ? region : new URL(baseUrl).host;
  } catch (error) {
    if (error instanceof EngagectlError && error.id !== 'E-CONFIG-FILE') return undefined;
    throw error;
  }
}

const noPasscode = async (): Promise<string> => 'not needed';

/** Returns the value of a flag among the words: `--region eu1`, `--region=eu1`, `-peu1`. */
function valueOf(name: string, options: readonly Option[], words: readonly string[]) {
  const option = options.filter(({ long }) => long === name);
  const [flag, value] = typedFlags(option, words);
  return flag === undefined ? undefined : (value ?? flag.replace(/^--[\w-]+=|^-\w/, ''));
}

const otherAddress = ({ run }: RunHeader, url: string, now: string | undefined): EngagectlError =>
  new EngagectlError('E-RUN-CHANGED', `run ${run} was started with --base-url ${url}`, {
    why: `${now === undefined ? 'no account names an address' : `the account's address is ${now}`}, and a passcode goes to no other one unless you type it`,
    fix: `if you know that address: engagectl runs resume ${run} --base-url ${quoteForShell(url)}`,
  });

/** `runs prune`. Throws E-CONFIRM without an age or a confirmation, E-USAGE for an unknown id. */
async function pruneRuns({
  operands,
  flags: { olderThan, yes },
  settings,
  runtime,
}: Invocation<PruneFlags>): Promise<void> {
  const how = settings();
  const root = runsFolder(runtime);
  const runs = listRuns(root, runtime);
  const isNamed = operands.length > 0;
  const named = [...new Set(operands)].map((id) => findRun([id], runtime, 'unfinished run'));
  const leastAge = olderThan ?? 0;
  const old = (isNamed ? named : runs).filter(
    ({ header }) => runtime.now() - Date.parse(header.started) >= leastAge,
  );
  if (olderThan === undefined && !yes && old.length > 0) await confirmPrune(old, root, runtime);
  const messages = messagePrinter(how, runtime);
  const busy = (id: string) => messages.warn(`left run ${id}: another process is working on it`);
  const inFlight = (id: string) =>
    messages.warn(
      `run ${id} was killed while it sent records: the outcome of those in flight is unknown, and no rejects file lists them`,
    );
  const unreadable = (id: string) =>
    messages.warn(
      `the journal of run ${id} cannot be read: some of its records may have been sent, and no rejects file lists them`,
    );
  const resent = (id: string) =>
    messages.warn(`run ${id} sent demerges or operators: its input would be sent again as a whole`);
  const { now, uid } = runtime;
  const doing = { root, words: cliAdvice, now, uid, busy, inFlight, unreadable, resent };
  const forgotten = await forgetRuns(old, doing);
  if (!how.json) {
    for (const file of forgotten.removed) messages.note(`removed ${file}`);
    for (const file of forgotten.left)
      messages.warn(`left ${file}: it changed since the export wrote it`);
  }
  const rememberMs = how.remember === undefined ? undefined : age(how.remember);
  const damaged = new Set<string>();
  const retention = {
    rememberMs,
    overridesRuns: how.flags.has('remember'),
    onDamage: (log: string) => void damaged.add(log),
  };
  const events = isNamed ? 0 : await pruneRememberedEvents(root, retention, runtime);
  for (const log of damaged)
    messages.warn(
      `a part of ${log} was damaged: events of earlier runs may be sent again; compare them with "verify"`,
    );
  if (events > 0 && !how.json) messages.note(`removed ${count(events, 'remembered event')}`);
  const all = count(runs.length, 'unfinished run');
  const note = `forgot ${grouped(forgotten.pruned.length)} of ${all}`;
  printAnswer(
    how,
    runtime,
    { ...forgotten, events },
    { note: runs.length === 0 ? 'no unfinished runs' : note },
  );
}

/** Lists the runs to delete and asks to type their number. Throws E-CONFIRM. */
async function confirmPrune(
  old: readonly RunFolder[],
  root: string,
  runtime: Runtime,
): Promise<void> {
  const { stderr } = runtime;
  if (!canPrompt(runtime)) {
    throw new EngagectlError(
      'E-CONFIRM',
      `${count(old.length, 'unfinished run')} would be forgotten`,
      {
        why: 'deleted runs cannot be resumed, and there is no terminal to confirm on',
        fix: 'add --yes when you are sure; or name an age: --older-than 30d',
      },
    );
  }
  const rows = old.map(({ header }) => [header.run, header.started, typedCommand(header)]);
  stderr.write(sanitize(textTable(rows)));
  stderr.write(
    'What is forgotten cannot be resumed any more; partial files of exports are removed.\n',
  );
  if (old.some((run) => sentOperators(root, run)))
    stderr.write('Demerges and operators that were sent would go out again with their inputs.\n');
  await confirmByTyping({ word: String(old.length), noun: 'number' }, runtime);
}

/** `runs repair`. */
async function repairNamedRun({ operands, settings, runtime }: Invocation): Promise<void> {
  const run = findRun(operands, runtime, 'unfinished run');
  const { repairRun } = await import('../../jobs/run/repair-run.js');
  const proved = await repairRun(runsFolder(runtime), run);
  const { run: id } = run.header;
  const resume = withProgramName(cliAdvice.resumeRun(id), runtime.program);
  const note = proved
    ? `repaired run ${id}: ${asText(proved)}; all other records will be reported as unknown: ${resume}`
    : `the journal of run ${id} is not damaged: ${resume}`;
  printAnswer(
    settings(),
    runtime,
    { run: id, repaired: !!proved, proved: proved ?? null },
    { note },
  );
}

function findRun([id]: readonly string[], runtime: Runtime, what: string): RunFolder {
  const runs = listRuns(runsFolder(runtime), runtime);
  const found = runs.find(({ header }) => header.run === id);
  if (found) return found;
  const known = runs.map(({ header }) => header.run).join(', ');
  throw new EngagectlError('E-USAGE', `there is no ${what} ${id}`, {
    why: known === '' ? 'no run is unfinished' : `unfinished are ${known}`,
    fix: what === 'run' ? 'engagectl runs list --finished' : 'engagectl runs list',
  });
}

/** Returns writes that processed their whole input, oldest first, each once. */
function finishedRuns(runtime: Runtime): readonly LedgerEntry[] {
  return deduplicated(readLedger(runsFolder(runtime)).lines);
}

const deduplicated = (lines: readonly LedgerEntry[]): readonly LedgerEntry[] => [
  ...new Map(lines.map((line) => [line.run, line])).values(),
];

/** `runs list --finished`. */
function listFinished(settings: GlobalOptions, runtime: Runtime): void {
  const { lines, damage } = readLedger(runsFolder(runtime));
  const messages = messagePrinter(settings, runtime);
  if (damage !== undefined) messages.warn(`the ledger cannot be read in full: ${damage}`);
  const runs = deduplicated(lines);
  const rows = runs.map(({ run, finished, command, ...line }) => [
    run,
    finished,
    grouped(line.accepted),
    grouped(line.rejected + line.unknown),
    `${line.accountId} (${line.host})`,
    `${command} ${line.sources.map(({ name }) => name).join(' ')}`,
  ]);
  const head = ['RUN', 'FINISHED', 'ACCEPTED', 'OTHERS', 'ACCOUNT', 'WHAT'];
  const words = runs.length === 0 ? { note: 'no finished runs' } : { text: tableOf(head, rows) };
  printAnswer(settings, runtime, { runs: runs.map(asFinished) }, words);
}

/** Members as printed by `runs show`. */
const asFinished = ({
  sources,
  once,
  schemaVersion: _version,
  options: _options,
  remembered: _remembered,
  ...line
}: LedgerEntry) => ({
  ...line,
  sources: sources.map(({ name, bytes, digest, records }) => ({ name, bytes, digest, records })),
  harmfulTwice: once.length > 0,
});

import { basename } from 'node:path';
import { asCalled } from '../../wording.js';
import { count, grouped, aligned } from '../../ui/format.js';
import {
  listRuns,
  listUnreadable,
  type RunFolder,
  type UnreadableRun,
} from '../../jobs/run/run-folder.js';
import { EngagectlError } from '../../errors.js';
import { answer, messages } from '../../ui/messages.js';
import { inert } from '../../ui/sanitize.js';
import { forgetRuns, progressOf } from '../../jobs/run/forget-runs.js';
import { confirm, mayAsk } from '../../ui/prompt.js';
import { flagsOf, withoutFlags } from '../shared/suggested-command.js';
import { jobWords, runsFolder } from '../shared/job-context.js';
import { readLedger, type LedgerLine } from '../../jobs/run/sent-files-ledger.js';
import type { Runtime } from '../../runtime.js';
import type { Settings } from '../shared/global-options.js';
import { age } from '../flags/value-parsers.js';
import { Instead, type Call, type CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

export const list: CommandSpec<{ readonly finished?: boolean }> = {
  needs: 'nothing',
  summary: 'the unfinished runs, the oldest first; or writes that are finished',
  examples: `
    # the oldest first
    engagectl runs list
    # for a script
    engagectl runs list --json
    # what was sent, and when
    engagectl runs list --finished
  `,
  options: ['Options:', ['--finished', 'writes that ended with their whole input worked through']],
  run: listRunsOf,
};

export const show: CommandSpec = {
  needs: 'nothing',
  summary: 'one run: its command, account and files, and how far it came or how it ended',
  operands: [['<id>', '']],
  examples: `
    # its command, account, files and folder
    engagectl runs show 20261121-044512-7kq2
    # for a script
    engagectl runs show 20261121-044512-7kq2 --json
  `,
  run: showRun,
};

export const resume: CommandSpec = {
  summary: 'goes on with a run, by the command line it was begun with',
  operands: [['<id>', '']],
  examples: `
    # from any folder
    engagectl runs resume 20261121-044512-7kq2
    # for a script
    engagectl runs resume 20261121-044512-7kq2 --json
  `,
  run: resumeRun,
};

const pruneOptions = [
  'Options:',
  ['--older-than <age>', 'only those begun longer ago, like 12h or 30d', { parse: age }],
  ['-y, --yes', 'do not ask, though no age is named'],
] as const satisfies OptionTable;
type PruneFlags = FlagsOf<typeof pruneOptions>;

export const prune: CommandSpec<PruneFlags> = {
  needs: 'nothing',
  summary: 'forgets unfinished runs: they cannot be resumed any more; what exports left is removed',
  examples: `
    # those begun more than 30 days ago
    engagectl runs prune --older-than 30d
    # all of them, without being asked
    engagectl runs prune --yes
  `,
  options: pruneOptions,
  run: pruneRuns,
};

/** `runs list`: the unfinished ones, the oldest first; or those that are finished. */
async function listRunsOf({
  runtime,
  flags,
  ...call
}: Call<{ readonly finished?: boolean }>): Promise<void> {
  const settings = call.settings();
  if (flags.finished) return listFinished(settings, runtime);
  const runs = listRuns(runsFolder(runtime));
  const unreadable = listUnreadable(runsFolder(runtime));
  const objects = [...runs.map((run) => asObject(run, runtime)), ...unreadable.map(asUnreadable)];
  for (const { path, why } of settings.json ? [] : unreadable) {
    messages(settings, runtime).warn(`the run folder ${path} cannot be read: ${why}`);
  }
  const rows = runs.map(({ header }) => [
    header.run,
    header.started,
    `${header.accountId} (${header.host})`,
    ['engagectl', ...header.argv].join(' '),
  ]);
  const text = tableOf(['RUN', 'BEGUN', 'ACCOUNT', 'COMMAND'], rows);
  const words = objects.length === 0 ? { note: 'no unfinished runs' } : { text };
  answer(settings, runtime, { runs: objects }, words);
}

/** Nothing where there are no rows. */
const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? '' : aligned([head, ...rows]);

/** `runs show`. Throws E-USAGE for an id that is none. */
async function showRun({ operands, settings, runtime }: Call): Promise<void> {
  const shown = shownRun(operands, runtime);
  const rows = Object.entries(shown).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    asText(value),
  ]);
  answer(settings(), runtime, shown, { text: aligned(rows) });
}

/** `600 accepted, 3 rejected` of figures, zeros left out; lists one after the other. */
function asText(value: unknown): string {
  if (typeof value === 'number') return grouped(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map(asText).join('; ');
  const told = Object.entries(value).filter(([, each]) => each !== 0);
  const parts = told.map(([name, each]) =>
    typeof each === 'number' ? `${grouped(each)} ${name}` : asText(each),
  );
  return parts.join(', ') || 'nothing yet';
}

/** One that is not finished, with how far it came; or one that is. */
function shownRun(operands: readonly string[], runtime: Runtime): object {
  const isUnfinished = listRuns(runsFolder(runtime)).some(
    ({ header }) => header.run === operands[0],
  );
  const finished = finishedRuns(runtime).find(({ run }) => run === operands[0]);
  if (finished && !isUnfinished) return asFinished(finished);
  const run = runOf(operands, runtime, 'run');
  const progress = progressOf(run);
  return { ...asObject(run, runtime), ...(progress && { progress }) };
}

const asUnreadable = ({ path, why }: UnreadableRun) => ({
  run: basename(path),
  folder: path,
  unreadable: why,
});

const asObject = ({ path, header }: RunFolder, { program }: Runtime) => ({
  run: header.run,
  begun: header.started,
  command: ['engagectl', ...header.argv].join(' '),
  cwd: header.cwd,
  accountId: header.accountId,
  host: header.host,
  files: header.files,
  folder: path,
  resume: asCalled(jobWords.goOn(header.run), program),
});

/**
 * `runs resume`: the command line the run was begun with, in the same folder, with --resume; flags of every
 * command that are typed now take the place of those that were typed then.
 */
function resumeRun({ operands, runtime, command, settings }: Call): never {
  const { header } = runOf(operands, runtime, 'unfinished run');
  if (header.argv.length === 0) {
    throw new EngagectlError('E-USAGE', `run ${header.run} was begun by a program`, {
      why: 'there is no command line to begin it with again',
      fix: `the program goes on with it by the same ${header.command} and the option resume`,
    });
  }
  const words = header.argv.filter((word) => word !== '--resume' && word !== '--fresh');
  const { options } = command.parent!.parent!;
  const typed = flagsOf(options, settings().argv);
  const kept = withoutFlags(options, words, typed);
  // An export is found by its output, and refuses another account by itself.
  const meant = header.command.startsWith('export-') ? [] : ['--run', header.run];
  const end = kept.indexOf('--');
  kept.splice(end < 0 ? kept.length : end, 0, '--resume', ...meant, ...typed);
  throw new Instead(kept, { ...runtime, cwd: header.cwd });
}

/** `runs prune`. Throws E-CONFIRM where no age is named, and nobody says yes. */
async function pruneRuns({
  flags: { olderThan, yes },
  settings,
  runtime,
}: Call<PruneFlags>): Promise<void> {
  const how = settings();
  const root = runsFolder(runtime);
  const runs = listRuns(root);
  const age = olderThan ?? 0;
  const old = runs.filter(({ header }) => runtime.now() - Date.parse(header.started) >= age);
  if (olderThan === undefined && !yes && old.length > 0) await confirmPrune(old, runtime);
  const said = messages(how, runtime);
  const busy = (id: string) => said.warn(`left run ${id}: another process is working on it`);
  const forgotten = await forgetRuns(old, { root, words: jobWords, busy });
  if (!how.json) {
    for (const file of forgotten.removed) said.note(`removed ${file}`);
    for (const file of forgotten.left) said.warn(`left ${file}: it is not as the export left it`);
  }
  const all = count(runs.length, 'unfinished run');
  const note = `forgot ${grouped(forgotten.pruned.length)} of ${all}`;
  answer(how, runtime, forgotten, { note: runs.length === 0 ? 'no unfinished runs' : note });
}

/** Names what goes, and has the number typed. Throws E-CONFIRM. */
async function confirmPrune(old: readonly RunFolder[], runtime: Runtime): Promise<void> {
  const { stderr } = runtime;
  if (!mayAsk(runtime)) {
    throw new EngagectlError(
      'E-CONFIRM',
      `${count(old.length, 'unfinished run')} would be forgotten`,
      {
        why: 'what is forgotten cannot be resumed any more, and nobody can be asked here',
        fix: 'add --yes when you are sure; or name an age: --older-than 30d',
      },
    );
  }
  const rows = old.map(({ header }) => [
    header.run,
    header.started,
    ['engagectl', ...header.argv].join(' '),
  ]);
  stderr.write(inert(aligned(rows)));
  stderr.write(
    'What is forgotten cannot be resumed any more; partial files of exports are removed.\n',
  );
  await confirm({ word: String(old.length), noun: 'number' }, runtime);
}

function runOf([id]: readonly string[], runtime: Runtime, what: string): RunFolder {
  const runs = listRuns(runsFolder(runtime));
  const found = runs.find(({ header }) => header.run === id);
  if (found) return found;
  const known = runs.map(({ header }) => header.run).join(', ');
  throw new EngagectlError('E-USAGE', `there is no ${what} ${id}`, {
    why: known === '' ? 'no run is unfinished' : `unfinished are ${known}`,
    fix: what === 'run' ? 'engagectl runs list --finished' : 'engagectl runs list',
  });
}

/** Writes that ended with their whole input worked through, the oldest first; each once. */
function finishedRuns(runtime: Runtime): readonly LedgerLine[] {
  return eachOnce(readLedger(runsFolder(runtime)).lines);
}

const eachOnce = (lines: readonly LedgerLine[]): readonly LedgerLine[] => [
  ...new Map(lines.map((line) => [line.run, line])).values(),
];

/** `runs list --finished`. */
function listFinished(settings: Settings, runtime: Runtime): void {
  const { lines, damage } = readLedger(runsFolder(runtime));
  const said = messages(settings, runtime);
  if (damage !== undefined) said.warn(`the ledger cannot be read in full: ${damage}`);
  const runs = eachOnce(lines);
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
  answer(settings, runtime, { runs: runs.map(asFinished) }, words);
}

/** As `runs show` tells it. */
const asFinished = ({ sources, once, schemaVersion: _, ...line }: LedgerLine) => ({
  ...line,
  sources: sources.map(({ name, bytes, digest, records }) => ({ name, bytes, digest, records })),
  harmfulTwice: once.length > 0,
});

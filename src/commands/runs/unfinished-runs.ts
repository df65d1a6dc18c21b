import { basename } from 'node:path';
import {
  listRuns,
  listUnreadable,
  type RunFolder,
  type UnreadableRun,
} from '../../jobs/run-folder.js';
import { EngagectlError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import { aligned } from '../../ui/aligned.js';
import { inert } from '../../ui/inert.js';
import { messages } from '../../ui/messages.js';
import { forgetRuns } from '../../jobs/forget-runs.js';
import type { Call } from '../command-spec.js';
import { jobWords } from '../job-words.js';
import { runsFolder } from '../job-world.js';

/** `runs list`: the oldest first. */
export async function listUnfinished({ runtime, ...call }: Call): Promise<void> {
  const settings = call.settings();
  const runs = listRuns(runsFolder(runtime));
  const unreadable = listUnreadable(runsFolder(runtime));
  if (settings.json) {
    const objects = [...runs.map(asObject), ...unreadable.map(asUnreadable)];
    return void runtime.stdout.write(`${JSON.stringify(objects)}\n`);
  }
  for (const { path, why } of unreadable) {
    messages(settings, runtime).warn(`the run folder ${path} cannot be read: ${why}`);
  }
  if (runs.length + unreadable.length === 0) {
    return messages(settings, runtime).note('no unfinished runs');
  }
  if (runs.length === 0) return;
  const rows = runs.map(({ header }) => [
    header.run,
    header.started,
    `${header.accountId} (${header.host})`,
    ['engagectl', ...header.argv].join(' '),
  ]);
  runtime.stdout.write(inert(aligned([['RUN', 'BEGUN', 'ACCOUNT', 'COMMAND'], ...rows])));
}

/** `runs show`. Throws E-USAGE for an id that is none. */
export async function showRun({ operands, settings, runtime }: Call): Promise<void> {
  const { stdout } = runtime;
  const { json } = settings();
  const run = runOf(operands, runtime);
  if (json) return void stdout.write(`${JSON.stringify(asObject(run))}\n`);
  const rows = Object.entries(asObject(run)).map(([name, value]) => [name, String(value)]);
  stdout.write(inert(aligned(rows)));
}

const asUnreadable = ({ path, why }: UnreadableRun) => ({
  run: basename(path),
  folder: path,
  unreadable: why,
});

const asObject = ({ path, header }: RunFolder) => ({
  run: header.run,
  begun: header.started,
  command: ['engagectl', ...header.argv].join(' '),
  cwd: header.cwd,
  accountId: header.accountId,
  host: header.host,
  files: header.files,
  folder: path,
  resume: `engagectl runs resume ${header.run}`,
});

/** `runs resume`: the command line the run was begun with, in the same folder, with --resume. */
export async function resumeRun({ operands, runtime, program }: Call): Promise<void> {
  const { header } = runOf(operands, runtime);
  if (header.argv.length === 0) {
    throw new EngagectlError('E-USAGE', `run ${header.run} was begun by a program`, {
      why: 'there is no command line to begin it with again',
      fix: `the program goes on with it by the same ${header.command} and the option resume`,
    });
  }
  const words = header.argv.filter((word) => word !== '--resume' && word !== '--fresh');
  // An export is found by its output, and refuses another account by itself.
  const meant = header.command.startsWith('export-') ? [] : ['--run', header.run];
  await program.run([...words, '--resume', ...meant], { ...runtime, cwd: header.cwd });
}

/** `runs prune`: milliseconds since they were begun. */
export async function pruneRuns({
  flags: { olderThan },
  settings,
  runtime,
}: Call<{ readonly olderThan: number }>): Promise<void> {
  const { json, ...how } = settings();
  const root = runsFolder(runtime);
  const runs = listRuns(root);
  const old = runs.filter(({ header }) => runtime.now() - Date.parse(header.started) >= olderThan);
  const said = messages({ json, ...how }, runtime);
  const busy = (id: string) => said.warn(`left run ${id}: another process is working on it`);
  const forgotten = await forgetRuns(old, { root, words: jobWords, busy });
  if (json) return void runtime.stdout.write(`${JSON.stringify(forgotten)}\n`);
  for (const file of forgotten.removed) said.note(`removed ${file}`);
  for (const file of forgotten.left) said.warn(`left ${file}: it is not as the export left it`);
  said.note(`forgot ${forgotten.pruned.length} of ${runs.length} unfinished runs`);
}

function runOf([id]: readonly string[], runtime: Runtime): RunFolder {
  const runs = listRuns(runsFolder(runtime));
  const found = runs.find(({ header }) => header.run === id);
  if (found) return found;
  const known = runs.map(({ header }) => header.run).join(', ');
  throw new EngagectlError('E-USAGE', `there is no unfinished run ${id}`, {
    why: known === '' ? 'there is none at all' : `unfinished are ${known}`,
    fix: 'engagectl runs list',
  });
}

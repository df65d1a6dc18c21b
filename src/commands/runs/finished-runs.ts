import { readLedger, type LedgerLine } from '../../jobs/run/ledger.js';
import type { Runtime } from '../../runtime.js';
import { aligned } from '../../ui/aligned.js';
import { grouped } from '../../ui/figures.js';
import { inert } from '../../ui/inert.js';
import { jsonAnswer } from '../../ui/json-answer.js';
import { messages } from '../../ui/messages.js';
import { runsFolder } from '../job/job-world.js';
import type { Settings } from '../settings.js';

/** Writes that ended with their whole input worked through, the oldest first; each once. */
export function finishedRuns(runtime: Runtime): readonly LedgerLine[] {
  return eachOnce(readLedger(runsFolder(runtime)).lines);
}

const eachOnce = (lines: readonly LedgerLine[]): readonly LedgerLine[] => [
  ...new Map(lines.map((line) => [line.run, line])).values(),
];

/** `runs list --finished`. */
export function listFinished(settings: Settings, runtime: Runtime): void {
  const { lines, damage } = readLedger(runsFolder(runtime));
  const said = messages(settings, runtime);
  if (damage !== undefined) said.warn(`the ledger cannot be read in full: ${damage}`);
  const runs = eachOnce(lines);
  if (settings.json) return void runtime.stdout.write(jsonAnswer({ runs: runs.map(asFinished) }));
  if (runs.length === 0) return said.note('no finished runs');
  const rows = runs.map(({ run, finished, command, ...line }) => [
    run,
    finished,
    `${line.accountId} (${line.host})`,
    `${command} ${line.sources.map(({ name }) => name).join(' ')}`,
    grouped(line.accepted),
    grouped(line.rejected + line.unknown),
  ]);
  const head = ['RUN', 'FINISHED', 'ACCOUNT', 'WHAT', 'ACCEPTED', 'OTHERS'];
  runtime.stdout.write(inert(aligned([head, ...rows])));
}

/** As `runs show` tells it. */
export const asFinished = ({ sources, once, schemaVersion: _, ...line }: LedgerLine) => ({
  ...line,
  sources: sources.map(({ name, bytes, digest, records }) => ({ name, bytes, digest, records })),
  harmfulTwice: once.length > 0,
});

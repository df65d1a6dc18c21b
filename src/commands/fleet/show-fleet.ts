import { aligned, fitted, grouped, secondsText } from '../../ui/format.js';
import { inert, jsonAnswer } from '../../ui/sanitize.js';
import type { RunStatus } from '../../fleet/run-status.js';
import type { Runtime } from '../../runtime.js';
import type { DisplaySettings } from '../../ui/display-settings.js';

/** As much of a run as a table of it shows. */
export type FleetPicture = Pick<
  RunStatus,
  'run' | 'command' | 'state' | 'shards' | 'counts' | 'workers' | 'budget' | 'parts'
>;

/** Most shards that are shown at once. */
const mostShown = 30;

/** Lines of a table besides its shards: two of figures, the heads, how many more there are, and where the cursor stands. */
const otherLines = 5;

/** A table of a run: printed once, or drawn again and again where standard output is a terminal. */
export function showFleet(
  { quiet = false, json = false }: DisplaySettings,
  { stdout, env }: Pick<Runtime, 'stdout' | 'env'>,
) {
  const isTerminal = stdout.isTTY === true && env['TERM'] !== 'dumb';
  let drawn = 0;
  let last = '';
  return {
    print: (picture: FleetPicture): void => void stdout.write(tableOf(picture, mostShown)),
    draw: (picture: FleetPicture): void => {
      if (quiet) return;
      if (json) return void stdout.write(jsonAnswer(picture));
      if (!isTerminal) {
        const line = headOf(picture).join('; ');
        if (line !== last) stdout.write(`${line}\n`);
        last = line;
        return;
      }
      // What is wider or higher than the terminal could not be drawn over.
      const { rows = 24, columns = 80 } = stdout;
      const shown = Math.min(mostShown, Math.max(rows - otherLines, 1));
      const lines = tableOf(picture, shown).split('\n');
      const up = drawn > 0 ? `\u001B[${drawn}A\u001B[J` : '';
      stdout.write(up + lines.map((line) => fitted(line, columns)).join('\n'));
      drawn = lines.length - 1;
    },
  };
}

function headOf(picture: FleetPicture): readonly [shards: string, records: string] {
  const { run, command, state, shards, counts, workers, budget, parts } = picture;
  const records = parts.reduce((sum, part) => sum + part.records, 0);
  return [
    inert(
      `${command} ${run}: ${state}; ${counts['done'] ?? 0} of ${shards} shards done, ` +
        `${counts['running'] ?? 0} running, ${counts['failed'] ?? 0} failed`,
    ),
    `${grouped(records)} records; ${workers} workers, budget ${budget ?? 'none'}`,
  ];
}

/** Shards that run or failed come first: of many, the others are left out. */
function tableOf(picture: FleetPicture, most: number): string {
  const order = ['failed', 'running', 'missing', 'cancelled', 'waiting', 'done'];
  const parts = picture.parts
    .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || a.shard - b.shard)
    .slice(0, most)
    .toSorted((a, b) => a.shard - b.shard);
  const rows = parts.map(({ shard, state, worker, records, rejected, share, seconds, error }) => [
    `${shard}/${picture.shards}`,
    state,
    share === null ? '' : `${Math.floor(share * 100)} %`,
    grouped(records),
    grouped(rejected),
    worker ?? '',
    seconds === null ? '' : secondsText(seconds),
    error ?? '',
  ]);
  const heads = ['SHARD', 'STATE', 'READ', 'RECORDS', 'REJECTED', 'WORKER', 'TIME', ''];
  const more = picture.parts.length - parts.length;
  return (
    `${headOf(picture).join('\n')}\n${inert(aligned([heads, ...rows]))}` +
    (more > 0 ? `and ${grouped(more)} more\n` : '')
  );
}

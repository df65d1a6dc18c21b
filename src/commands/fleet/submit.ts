import path from 'node:path';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import { formatDay } from '../../contract/dates.js';
import { EngagectlError } from '../../errors.js';
import { dateRange, daysOf, type DateRange } from '../../jobs/date-range.js';
import { isStdout, refuseFormat } from '../../jobs/output-options.js';
import { jobWords } from '../shared/job-context.js';
import type { Connection } from '../shared/connect.js';
import type { FleetRun, InputFile } from '../../fleet/fleet-run.js';
import type { Runtime } from '../../runtime.js';
import type { CommandWithin } from './nested-command.js';

interface Planned {
  readonly within: CommandWithin;
  readonly argv: readonly string[];
  readonly shards: number | undefined;
  readonly connection: Connection;
  readonly runtime: Runtime;
}

/** What a fleet is to do, from a command line. Throws E-USAGE for what it cannot do. */
export async function planRun(planned: Planned): Promise<Omit<FleetRun, 'run' | 'version'>> {
  const { within, argv, connection, runtime } = planned;
  refuse(within);
  const { account, accountId, host, zone } = connection;
  const range = within.name === 'export-events' ? rangeOf(within, connection, runtime) : undefined;
  const files = await Promise.all(
    within.files.map(async (file) => inputFile(path.resolve(runtime.cwd, file))),
  );
  return {
    command: within.name,
    argv,
    cwd: runtime.cwd,
    profile: account.profile,
    region: account.profile === undefined ? undefined : account.region,
    timezone: zone.name,
    accountId,
    host,
    shards: range ? slicesIn(within, range) : shardsOf(planned),
    files,
    range: range && { from: formatDay(range.from), to: formatDay(range.to) },
  };
}

function shardsOf({ shards }: Planned): number {
  if (shards !== undefined) return shards;
  throw usage('in how many parts is not said', 'add --shards <n>: as many as may be in flight');
}

const slicesIn = ({ flags: { event = [], split = true } }: CommandWithin, range: DateRange) =>
  event.length * (split ? daysOf(range).length : 1);

function rangeOf({ flags }: CommandWithin, { zone }: Connection, { now }: Runtime): DateRange {
  const { from = '', to = '' } = flags;
  return dateRange({ from, to }, { zone, now: now() }, jobWords);
}

/** What has no meaning for parts that run anywhere, or cannot be put together again. */
function refuse({ name, files, flags }: CommandWithin): void {
  const wrong = (
    [
      ['shard', flags.shard],
      ['shards', flags.shards],
      ['missing', flags.missing],
      ['changed', flags.changed],
      ['check', flags.check],
      ['dryRun', flags.dryRun],
      ['fresh', flags.fresh],
    ] as const
  ).find(([, value]) => value !== undefined);
  if (wrong) throw usage(`${jobWords.option(wrong[0])} is not for a fleet`, 'leave it out');
  if (flags.journal === false)
    throw usage('a fleet lives by its journals', 'leave out --no-journal');
  if (name === 'export-events') return refuseExport(flags);
  if (files.length === 0 || files.includes('-')) {
    throw usage('a fleet reads files, each part all of them', 'name files that all workers see');
  }
}

function refuseExport(flags: CommandWithin['flags']): void {
  if (isStdout(flags.output)) {
    throw usage('the slices of a fleet are put together in files', 'add --output <file>');
  }
  if (flags.limit !== undefined) {
    throw usage('--limit is not for the exports of a fleet', 'leave it out: each slice is a day');
  }
  refuseFormat(flags.output, flags, jobWords);
}

/** Throws E-FILE-READ. */
async function inputFile(file: string): Promise<InputFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  let once = false;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      if (bytes === 0) once = ofOnce.test(beginning(chunk as Buffer));
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
    }
  } catch (cause) {
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, {
      why: (cause as Error).message,
      fix: 'correct the name, or its permissions',
      file,
      cause,
    });
  }
  return { file, bytes, digest: hash.digest('hex'), ...(once && { once }) };
}

/** Events, exported ones among them, and operators, as NDJSON and JSON have them. */
const ofOnce = /"type"\s*:\s*"event"|"event_props"\s*:|"\$(?:incr|decr|add)"/;

/** The text that a file begins with. */
function beginning(chunk: Buffer): string {
  const some = chunk.subarray(0, 64 * 1024);
  try {
    return gunzipSync(some, { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1');
  } catch {
    return some.toString('latin1'); // it is not packed
  }
}

const usage = (message: string, fix: string): EngagectlError =>
  new EngagectlError('E-USAGE', message, {
    why: 'its parts run on any machine, in any order, and are put together at the end',
    fix,
  });

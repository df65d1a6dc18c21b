import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { TestServiceOptions } from '../../../src/testing.js';
import { jsonRunner, serve, written } from '../../support/serve.js';

/** The fields of `upload --json` that these tests read. */
export interface Figures {
  readonly run: string;
  readonly read: number;
  readonly accepted: number;
  readonly alreadySent: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly rejectsFile: string | null;
}

/** An account in a local service, and ways to send its events from files, pipes and on other days. */
export async function stage(options: TestServiceOptions = {}) {
  const { service, world } = await serve({ accountId: 'ACC-1', ...options });
  const runJson = jsonRunner<Figures>(world);
  const run = async (argv: readonly string[], stdin = '') => runJson(argv, { stdin });
  const runPiped = async (argv: readonly string[], stdin: Readable) => runJson(argv, { stdin });
  const runAt = async (day: string, ...argv: string[]) =>
    runJson(argv, { now: () => Date.parse(day) });
  /** Numbers of the events in the account, in order. */
  const stored = () =>
    written<{ ts: unknown; evtData: { n: unknown } }>(service)
      .flat()
      .flatMap(({ ts, evtData }) => (Number.isInteger(ts) ? Number(evtData.n) : []))
      .toSorted((a, b) => a - b);
  const write = (name: string, content: string | Buffer) =>
    writeFileSync(world.path(name), content);
  /** Folder of the event memory of the account. */
  const folder = () => {
    const events = path.join(world.stateDir, 'events');
    return path.join(events, readdirSync(events)[0]!);
  };
  /** Leaves the memory as a kill before the answer does: an intent of this many events without outcomes, of a run that has not ended. */
  const leaveInFlight = (events: number) => {
    truncateSync(path.join(folder(), 'sent-1.log'), 24 + 8 * events);
    const table = path.join(folder(), 'runs.ndjson');
    writeFileSync(table, readFileSync(table, 'utf8').replace(/.*"ended":true.*/, ''));
  };
  return { service, world, run, runPiped, runAt, stored, write, folder, leaveInFlight };
}

export const event = (n: number) => ({
  identity: `u${n}`,
  type: 'event',
  evtName: 'Visit',
  ts: 1_700_000_000 + n,
  evtData: { n, Amount: `${n}.50`, City: 'Zürich' },
});
/** Events as NDJSON. */
export const lines = (...numbers: number[]) =>
  numbers.map((n) => `${JSON.stringify(event(n))}\n`).join('');
export const numbers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => from + n);

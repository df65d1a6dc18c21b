import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { linesStart } from '../../src/bulk/journal/journal-format.js';
import { replayWrite, type WriteEntry } from '../../src/bulk/outcomes/journal-entries.js';
import type { World } from '../support/test-environment.js';
import type { InputRecord, Scenario } from './random-upload.js';
import type { Truth } from './reference-service.js';

export const passcode = 'seeded-secret-7f3a';
export const olderRejects = 'rejects of an earlier run\n';

export interface Summary {
  readonly run: string;
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly notSent: number;
  readonly resumed: number;
  readonly duplicates: number;
  readonly unchanged: number;
  readonly alreadySent: number;
  readonly exitCode: number;
}

/** Exit codes of a part of a run whose service, disk or user gives trouble. */
const codesOfTrouble = [3, 4, 5, 6, 7, 9, 130];

/** What must hold after each part of a run. `code` is what the shell saw. */
export function checkPart(
  {
    code,
    stdout,
    stderr,
  }: { readonly code: number; readonly stdout: string; readonly stderr: string },
  { records, stdin }: Scenario,
  interrupted: boolean,
): Summary {
  expect([0, ...codesOfTrouble], stderr).toContain(code);
  expect(stdout, `${code}: ${stderr}`).not.toBe('');
  const summary = JSON.parse(stdout) as Summary;
  const { read, accepted, rejected, unknown, notSent, resumed } = summary;
  const skipped = summary.duplicates + summary.unchanged + summary.alreadySent;
  expect(accepted + rejected + unknown + notSent + resumed + skipped).toBe(read);
  // An interrupt leaves the rest unread; whatever else stops a run accounts for all of its files, but not of a pipe.
  if (interrupted || (stdin && code !== 0)) expect(read).toBeLessThanOrEqual(records.length);
  else expect(read).toBe(records.length);
  expect(summary.exitCode).toBe(code);
  return summary;
}

const rejectsFile = (world: World, { argv }: Scenario): string =>
  world.path(`${argv[1] === '-' ? 'engagectl-upload' : argv[1]}.rejects.ndjson`);

/** Lays out the input, and a rejects file of an earlier run that must not get lost. */
export function layOut(world: World, scenario: Scenario): void {
  for (const [name, content] of scenario.files) writeFileSync(world.path(name), content);
  writeFileSync(rejectsFile(world, scenario), olderRejects);
}

/** True when the run needs no further part. */
export const isDone = ({ read, notSent, exitCode }: Summary, { records }: Scenario): boolean =>
  read === records.length && notSent === 0 && [0, 3, 6].includes(exitCode);

/** What must hold at the end of a run, whatever happened on the way. */
export function checkEnd(
  world: World,
  { scenario, truth, summary }: { scenario: Scenario; truth: Truth; summary: Summary },
): void {
  const rejects = rejectsOf(world, scenario);
  const { rejected, unknown, accepted, resumed, duplicates, unchanged, alreadySent } = summary;
  const stages = rejects.map(({ stage }) => (stage === 'unknown' ? 'unknown' : 'rejected'));
  expect(stages.filter((stage) => stage === 'rejected')).toHaveLength(rejected);
  expect(stages.filter((stage) => stage === 'unknown')).toHaveLength(unknown);
  const places = rejects.map(({ source, line }) => `${source}:${line}`);
  expect(places, 'each record is listed once').toHaveLength(new Set(places).size);

  const stageAt = new Map(rejects.map(({ source, line, stage }) => [`${source}:${line}`, stage]));
  const stageOf = ({ source, line }: InputRecord) => stageAt.get(`${source}:${line}`);
  checkRecords(scenario, truth, stageOf);
  checkOrder(scenario, truth);
  const seen = new Set<string>();
  let repeated = 0;
  for (const { id, fate } of scenario.records) {
    if (seen.has(id) && fate !== 'unreadable') repeated += 1;
    seen.add(id);
  }
  expect(duplicates).toBe(repeated);
  const all = accepted + resumed + unchanged + alreadySent; // of a pipe that is read again from its beginning
  expect(all).toBe(scenario.records.length - rejected - unknown - duplicates);
  expect(runsOf(world), 'the folder of a finished run').toEqual([]);
  checkSecret(path.dirname(world.cwd));
}

/** Each record was carried out as its outcome says. */
function checkRecords(
  { records }: Scenario,
  { executed, refused }: Truth,
  stageOf: (record: InputRecord) => string | undefined,
): void {
  const times = new Map<string, number>();
  for (const id of executed) times.set(id, (times.get(id) ?? 0) + 1);
  const done = new Set<string>();
  for (const record of records) {
    const { id, once, fate } = record;
    if (done.has(id)) continue; // a duplicate
    done.add(id);
    const count = times.get(id) ?? 0;
    const stage = stageOf(record);
    const what = `${JSON.stringify(record)}: ${stage}, carried out ${count} times`;
    if (once) expect(count, what).toBeLessThanOrEqual(1);
    if (stage === undefined) expect(count, what).toBeGreaterThanOrEqual(1);
    else if (stage === 'service') {
      expect(refused.has(id), what).toBe(true);
      if (once) expect(count, what).toBe(0);
    } else if (stage !== 'unknown') {
      expect([fate, count], what).toEqual(['unreadable', 0]);
    }
  }
}

/** Records of one key were carried out in the order of the input: none after a later one. */
function checkOrder({ records }: Scenario, { executed }: Truth): void {
  const placeOf = new Map(records.map(({ id, key }, place) => [id, { key, place }]));
  const last = new Map<string, number>();
  for (const id of executed) {
    const { key, place } = placeOf.get(id) ?? { key: undefined, place: 0 };
    if (key === undefined) continue;
    expect(place, `${id} of ${key} after a later one`).toBeGreaterThanOrEqual(last.get(key) ?? 0);
    last.set(key, place);
  }
}

interface Reject {
  readonly source: string;
  readonly line: number;
  readonly stage: string;
}

function rejectsOf(world: World, scenario: Scenario): readonly Reject[] {
  const file = rejectsFile(world, scenario);
  // A run that died once it had made way for its own file may have nothing to reject any more.
  const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  if (text === olderRejects) return [];
  // A kill between taking a name for the older file and the renaming leaves that name empty.
  const aside = [1, 2]
    .map((n) => `${file}.${n}`)
    .find((name) => (statSync(name, { throwIfNoEntry: false })?.size ?? 0) > 0);
  expect(aside && readFileSync(aside, 'utf8'), 'the older rejects file').toBe(olderRejects);
  // A kill between making the file and writing its first line leaves it empty.
  if (text === undefined || text === '') return [];
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Reject);
}

/**
 * Whatever the memory says was accepted, was, and was the last of its key: a record of which that is
 * not so would be sent. Asked by a check, which sends nothing, of one record of each key at a time.
 */
export async function checkMemory(
  world: World,
  { records }: Scenario,
  { executed }: Pick<Truth, 'executed'>,
): Promise<void> {
  const keyOf = new Map(records.map(({ id, key }) => [id, key]));
  const last = new Map(executed.map((id) => [keyOf.get(id), id]));
  const layers: string[][] = [];
  const depth = new Map<string | undefined, number>();
  for (const { id, key, fate } of records) {
    if (fate === 'unreadable' || last.get(key) === id) continue;
    const at = depth.get(key) ?? 0;
    depth.set(key, at + 1);
    (layers[at] ??= []).push(`${key},${id}\n`);
  }
  for (const rows of layers) {
    writeFileSync(world.path('asked.csv'), `identity,Id\n${rows.join('')}`);
    const { stdout, stderr } = await world.run([
      'upload',
      'asked.csv',
      '--changed',
      '--check',
      '--json',
    ]);
    expect(stdout, stderr).not.toBe('');
    const { plan } = JSON.parse(stdout) as { plan: { unchanged: number } };
    expect(plan.unchanged, 'remembered, and not the last that was carried out').toBe(0);
  }
}

/** Everything in the folder of unfinished runs, but the locks that killed processes left. */
export function runsOf({ stateDir }: World): readonly string[] {
  const folder = path.join(stateDir, 'runs');
  return existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];
}

/** The passcode stands in no file. */
export function checkSecret(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    expect(readFileSync(file).includes(passcode), file).toBe(false);
  }
}

/** What a journal calls the length of its rejects file holds a line for each reject it counts, and no more. */
export function checkRejectsMark(world: World): void {
  for (const run of runsOf(world)) {
    if (run.startsWith('.')) continue; // being taken apart
    const journal = path.join(world.stateDir, 'runs', run, 'journal.ndjson');
    if (!existsSync(journal)) continue;
    const entries = readFileSync(journal)
      .subarray(linesStart)
      .toString()
      .split('\n')
      .slice(0, -1) // a torn line
      .map((line) => JSON.parse(line.slice('01234567 '.length)) as { entries: WriteEntry[] })
      .flatMap((together) => together.entries);
    const { rejectsFile, rejects, counts } = replayWrite(entries);
    const known = rejects.bytes === 0 ? Buffer.of() : readFileSync(rejectsFile ?? '');
    const lines = known.subarray(0, rejects.bytes).toString().split('\n').length - 1;
    expect(lines, 'lines that the journal counts on').toBe(counts.rejected + counts.unknown);
  }
}

/** `runs list` can be asked at any time. */
export async function checkRunsList(world: World): Promise<void> {
  const { code, stdout } = await world.run(['runs', 'list', '--json']);
  const { runs } = JSON.parse(stdout) as { runs: unknown };
  expect([code, Array.isArray(runs)]).toEqual([0, true]);
}

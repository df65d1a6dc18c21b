import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from './random.js';

/** The calls that change files, and those after which the disk has what was changed. */
export const fileCalls = 'openat write pwrite64 fsync fdatasync mkdir rename'.split(' ');

/** A file, in bytes. */
interface Content {
  length: number;
  /** So much of it was there when the last sync began. */
  syncing: number;
  /** So much of it the disk has. */
  synced: number;
}

/** A name that came into a folder, which the disk may not have. */
interface Naming {
  readonly folder: string;
  readonly undo: () => void;
}

/**
 * Leaves of the files under `root` what a disk may have of them when the power is cut: of what a
 * killed process wrote and did not sync any part is gone, and so are names in folders that it did
 * not sync. What it removed stays removed. `trace` is what `strace -y` wrote of its `fileCalls`,
 * and it began with no files of its own.
 */
export function cutPower(root: string, trace: string, random: Random): void {
  const contents = new Map<string, Content>();
  let namings: Naming[] = [];
  const named = (file: string, undo: () => void) =>
    namings.push({ folder: path.dirname(file), undo });

  for (const { call, args, result, ...state } of callsOf(trace)) {
    const [file = ''] = /(?<=<)\/[^>]*(?=>)/.exec(call === 'openat' ? result : args) ?? [];
    const [from = '', to = ''] = args.match(/(?<=")\/[^"]*(?=")/g) ?? [];
    const content = contents.get(file);
    if (![file, from].some((name) => name.startsWith(root))) continue;
    if (call === 'fsync' || call === 'fdatasync') {
      // What is written while it is under way may come too late for it.
      if (state.isBegun && content) content.syncing = content.length;
      if (state.isDone && content) content.synced = content.syncing;
      if (state.isDone) namings = namings.filter(({ folder }) => folder !== file);
    } else if (!state.isDone) {
      continue;
    } else if (call === 'openat' && args.includes('O_CREAT') && !content) {
      contents.set(file, { length: 0, syncing: 0, synced: 0 });
      named(file, () => rmSync(file, { force: true }));
    } else if ((call === 'write' || call === 'pwrite64') && content) {
      content.length += Number.parseInt(result, 10);
    } else if (call === 'mkdir') {
      named(from, () => rmSync(from, { recursive: true, force: true }));
    } else if (call === 'rename') {
      // In the place of another file: a disk has the one or the other, and never none.
      const replaces = contents.has(to);
      for (const [name, moved] of contents) {
        if (name === from || name.startsWith(`${from}/`)) {
          contents.set(to + name.slice(from.length), moved);
          contents.delete(name);
        }
      }
      if (!replaces) named(to, () => existsSync(to) && renameSync(to, from));
    }
  }
  for (const [file, { length, synced }] of contents) {
    if (synced < length && existsSync(file)) damage(file, synced, random);
  }
  for (const { undo } of namings.toReversed()) undo();
}

/** Cuts a file somewhere behind what the disk must have, and may empty a part of the rest. */
function damage(file: string, synced: number, random: Random): void {
  const content = readFileSync(file);
  const end = random.chance(0.5) ? synced : synced + random.below(content.length - synced + 1);
  const hole = synced + random.below(end - synced + 1);
  if (random.chance(0.5)) content.fill(0, hole, end);
  writeFileSync(file, content.subarray(0, end));
}

interface Call {
  readonly call: string;
  readonly args: string;
  /** Empty when it only began. */
  readonly result: string;
  readonly isBegun: boolean;
  /** It returned, and without an error. */
  readonly isDone: boolean;
}

/** A call that other threads' calls came into is there twice: as it began, and as it was done. */
function callsOf(trace: string): readonly Call[] {
  const calls: Call[] = [];
  const begun = new Map<string, string>();
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const [, beginning] = /^(.*) <unfinished \.\.\.>$/.exec(text) ?? [];
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/.exec(text) ?? [];
    if (beginning !== undefined) begun.set(thread, beginning);
    const whole = rest === undefined ? (beginning ?? text) : `${begun.get(thread)}${rest}`;
    const [, call = '', args = '', result = ''] = /^(\w+)\((.*?)(?:\) += (.*))?$/.exec(whole) ?? [];
    const isDone = beginning === undefined && /^\d/.test(result);
    if (call !== '') calls.push({ call, args, result, isBegun: rest === undefined, isDone });
  }
  return calls;
}

import { existsSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs';
import path from 'node:path';

/** The calls that change files, and those after which the disk has what was changed. */
export const fileCalls = 'openat write pwrite64 fsync fdatasync mkdir rename'.split(' ');

interface Content {
  length: number;
  /** So much of it the disk has. */
  synced: number;
  /** Opened so that a write returns when the disk has it. */
  readonly isSync: boolean;
}

/** A name that came into a folder, which the disk may not have. */
interface Naming {
  readonly folder: string;
  readonly undo: () => void;
}

/**
 * Leaves of the files under `root` what a disk must have of them when the power is cut: what a
 * killed process wrote and did not sync is gone, and so are names in folders that it did not sync.
 * What it removed stays removed. `trace` is what `strace -y` wrote of its `fileCalls`, and it began
 * with no files of its own.
 */
export function cutPower(root: string, trace: string): void {
  const contents = new Map<string, Content>();
  let namings: Naming[] = [];
  const named = (file: string, undo: () => void) =>
    namings.push({ folder: path.dirname(file), undo });

  for (const { call, args, result } of callsOf(trace)) {
    const [file = ''] = /(?<=<)\/[^>]*(?=>)/.exec(call === 'openat' ? result : args) ?? [];
    const [from = '', to = ''] = args.match(/(?<=")\/[^"]*(?=")/g) ?? [];
    const content = contents.get(file);
    if (![file, from].some((name) => name.startsWith(root))) continue;
    if (call === 'openat' && args.includes('O_CREAT') && !content) {
      contents.set(file, { length: 0, synced: 0, isSync: args.includes('O_SYNC') });
      named(file, () => rmSync(file, { force: true }));
    } else if ((call === 'write' || call === 'pwrite64') && content) {
      content.length += Number.parseInt(result, 10);
      if (content.isSync) content.synced = content.length;
    } else if (call === 'fsync' || call === 'fdatasync') {
      if (content) content.synced = content.length;
      namings = namings.filter(({ folder }) => folder !== file);
    } else if (call === 'mkdir') {
      named(from, () => rmSync(from, { recursive: true, force: true }));
    } else if (call === 'rename') {
      for (const [name, moved] of contents) {
        if (name === from || name.startsWith(`${from}/`)) {
          contents.set(to + name.slice(from.length), moved);
          contents.delete(name);
        }
      }
      named(to, () => existsSync(to) && renameSync(to, from));
    }
  }
  for (const [file, { length, synced }] of contents) {
    if (synced < length && existsSync(file)) truncateSync(file, synced);
  }
  for (const { undo } of namings.toReversed()) undo();
}

/** Those that returned, and without an error. */
function callsOf(trace: string) {
  const calls: { call: string; args: string; result: string }[] = [];
  const begun = new Map<string, string>();
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (text.endsWith('<unfinished ...>')) {
      begun.set(thread, text.slice(0, -'<unfinished ...>'.length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
    const whole = resumed ? `${begun.get(thread)}${resumed[1]}` : text;
    const [, call = '', args = '', result = ''] = /^(\w+)\((.*)\) += (\d.*)$/.exec(whole) ?? [];
    if (call !== '') calls.push({ call, args, result });
  }
  return calls;
}

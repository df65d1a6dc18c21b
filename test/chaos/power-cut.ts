import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Random } from './random.js';

/** The calls that change files, and those after which the disk has what was changed. */
const fileCalls =
  'openat write writev pwrite64 ftruncate fsync fdatasync mkdir rename link unlink'.split(' ');
/** Longest data of one call that a trace keeps whole. */
const longestData = 1 << 22;

/** Flags of strace for a trace that `cutPower` can read; `more` calls may be in it as well. */
export const powerCutFlags = (...more: readonly string[]): readonly string[] => [
  '-y',
  '-s',
  `${longestData}`,
  `-etrace=${[...new Set([...more, ...fileCalls])].join(',')}`,
];

/** All files under a folder, by their path. */
export const snapshotOf = (root: string): ReadonlyMap<string, Buffer> =>
  new Map(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.join(parentPath, name))
      .map((file) => [file, readFileSync(file)]),
  );

/** What a file holds, and how much of it is safe. */
interface Content {
  bytes: Buffer;
  /** Length when the last sync began. */
  syncing: number;
  /** Length that the disk has for sure. */
  synced: number;
  /** A sync failed: the disk may never have what was written before, though later syncs succeed. */
  hasFailed?: boolean;
}

/** A folder keeps its identity when it is renamed. */
interface Folder {
  path: string;
}

/** A change of the names in a folder, which the disk may not have. */
interface NameChange {
  readonly folder: Folder;
  readonly undo: () => void;
}

interface Traced {
  /** File that strace wrote with `powerCutFlags`. */
  readonly trace: string;
  /** The files before the traced process began; all of them are on the disk. */
  readonly before: ReadonlyMap<string, Buffer>;
}

/**
 * Leaves of the files under `root` what a disk may have of them when the power is cut. Of data that
 * the traced process wrote and did not sync, any part is gone. Names that it created, renamed or
 * linked are undone unless it synced their folder afterwards; a file that was replaced by a rename
 * that is undone is there again. Removed files stay removed, unless another name of them is left.
 */
export function cutPower(root: string, { trace, before }: Traced, random: Random): void {
  const contents = new Map<string, Content>();
  for (const [file, bytes] of before) {
    contents.set(file, { bytes, syncing: bytes.length, synced: bytes.length });
  }
  const folders = new Folders();
  let changes: NameChange[] = [];
  const changed = (file: string, undo: (name: () => string) => void) => {
    const name = folders.nameOf(file);
    changes.push({ folder: name.folder, undo: () => undo(name.path) });
  };

  for (const { call, args, result, ...state } of callsOf(trace)) {
    const [file = ''] = /(?<=<)\/[^>]*(?=>)/.exec(call === 'openat' ? result : args) ?? [];
    const [from = '', to = ''] = args.match(/(?<=")\/[^"]*(?=")/g) ?? [];
    const content = contents.get(file);
    if (![file, from].some((name) => name.startsWith(root))) continue;
    if (call === 'fsync' || call === 'fdatasync') {
      // What is written while it is under way may come too late for it.
      if (state.isBegun && content) content.syncing = content.bytes.length;
      if (state.isFailed && content) content.hasFailed = true;
      if (state.isDone && content && !content.hasFailed) content.synced = content.syncing;
      if (state.isDone) changes = changes.filter(({ folder }) => folder.path !== file);
    } else if (!state.isDone) {
      continue;
    } else if (call === 'openat') {
      if (args.includes('O_CREAT') && !content) {
        contents.set(file, { bytes: Buffer.alloc(0), syncing: 0, synced: 0 });
        changed(file, (name) => rmSync(name(), { force: true }));
      } else if (args.includes('O_TRUNC') && content) truncate(content, 0);
    } else if (call === 'write' || call === 'writev' || call === 'pwrite64') {
      if (content) overwrite(content, { call, args, result });
    } else if (call === 'ftruncate') {
      if (content) truncate(content, lastNumberOf(args));
    } else if (call === 'mkdir') {
      changed(from, (name) => rmSync(name(), { recursive: true, force: true }));
    } else if (call === 'link') {
      const linked = contents.get(from);
      if (linked) contents.set(to, linked);
      changed(to, (name) => rmSync(name(), { force: true }));
    } else if (call === 'unlink') {
      const removed = contents.get(from);
      contents.delete(from);
      const [other] = [...contents].find(([, each]) => each === removed) ?? [];
      const left = other === undefined ? undefined : folders.nameOf(other);
      if (left) changed(from, (name) => existsSync(left.path()) && linkSync(left.path(), name()));
    } else if (call === 'rename') {
      const replaced = contents.get(to);
      for (const [name, moved] of contents) {
        if (name !== from && !name.startsWith(`${from}/`)) continue;
        contents.delete(name);
        contents.set(to + name.slice(from.length), moved);
      }
      const source = folders.nameOf(from);
      changed(to, (name) => {
        if (!existsSync(name())) return;
        const [undone, restored] = [name(), source.path()];
        renameSync(undone, restored);
        folders.move(undone, restored);
        if (replaced) writeFileSync(undone, remainderOf(replaced.bytes, replaced.synced, random));
      });
      folders.move(from, to);
    }
  }
  for (const [file, { bytes, synced }] of contents) {
    if (synced >= bytes.length || !existsSync(file)) continue;
    writeFileSync(file, remainderOf(readFileSync(file), synced, random));
  }
  for (const { undo } of changes.toReversed()) undo();
}

/** The folders that names were changed in, by their present path. */
class Folders {
  readonly #folders = new Map<string, Folder>();

  /** A name that follows its folder when that is renamed. */
  nameOf(file: string) {
    const parent = path.dirname(file);
    const folder = this.#folders.get(parent) ?? { path: parent };
    this.#folders.set(parent, folder);
    return { folder, path: () => path.join(folder.path, path.basename(file)) };
  }

  move(from: string, to: string): void {
    for (const [name, folder] of this.#folders) {
      if (name !== from && !name.startsWith(`${from}/`)) continue;
      folder.path = to + name.slice(from.length);
      this.#folders.delete(name);
      this.#folders.set(folder.path, folder);
    }
  }
}

/** A file cut somewhere after what the disk must have; a part of the rest may be empty. */
function remainderOf(bytes: Buffer, synced: number, random: Random): Buffer {
  if (synced >= bytes.length) return bytes;
  const end = random.chance(0.5) ? synced : synced + random.below(bytes.length - synced + 1);
  const hole = synced + random.below(end - synced + 1);
  const remainder = Buffer.from(bytes.subarray(0, end));
  return random.chance(0.5) ? remainder.fill(0, hole, end) : remainder;
}

function truncate(content: Content, length: number): void {
  const bytes = Buffer.alloc(length);
  content.bytes.copy(bytes);
  content.bytes = bytes;
  content.syncing = Math.min(content.syncing, length);
  content.synced = Math.min(content.synced, length);
}

/** Applies a write. One without an offset goes to the end: no file is written otherwise. */
function overwrite(
  content: Content,
  { call, args, result }: Pick<Call, 'call' | 'args' | 'result'>,
) {
  const data = dataOf(args).subarray(0, Number.parseInt(result, 10));
  const at = call === 'pwrite64' ? lastNumberOf(args) : content.bytes.length;
  const bytes = Buffer.alloc(Math.max(content.bytes.length, at + data.length));
  content.bytes.copy(bytes);
  data.copy(bytes, at);
  content.bytes = bytes;
}

const lastNumberOf = (args: string): number => Number(/\d+$/.exec(args)?.[0]);

/** The bytes of the strings among the arguments of a call, as strace escapes them. */
function dataOf(args: string): Buffer {
  const letters: Readonly<Record<string, string>> = {
    n: '\n',
    r: '\r',
    t: '\t',
    v: '\v',
    f: '\f',
  };
  const strings = [...args.matchAll(/"((?:[^"\\]|\\.)*)"(\.\.\.)?/g)].map(([, text = '', cut]) => {
    if (cut) throw new Error(`a write of more than ${longestData} bytes is not traced whole`);
    const plain = text.replaceAll(/\\([0-7]{1,3}|.)/g, (_, escaped: string) =>
      /^[0-7]/.test(escaped)
        ? String.fromCharCode(Number.parseInt(escaped, 8))
        : (letters[escaped] ?? escaped),
    );
    return Buffer.from(plain, 'latin1');
  });
  return Buffer.concat(strings);
}

interface Call {
  readonly call: string;
  readonly args: string;
  /** Empty when it only began. */
  readonly result: string;
  readonly isBegun: boolean;
  /** It returned, and without an error. */
  readonly isDone: boolean;
  readonly isFailed: boolean;
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
    const [, call = '', args = '', result = ''] =
      /^(\w+)\((.*)\) += ([^"]*)$/.exec(whole) ?? /^(\w+)\((.*)$/.exec(whole) ?? [];
    const isDone = beginning === undefined && /^\d/.test(result);
    const isFailed = result.startsWith('-1');
    const isBegun = rest === undefined;
    if (call !== '') calls.push({ call, args, result, isBegun, isDone, isFailed });
  }
  return calls;
}

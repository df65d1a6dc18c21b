import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Random } from '../random.js';

// A file system in memory, below `/simulated`, whose power can be cut. The program uses it through
// `node:fs`, unchanged: what is not below that folder goes to the real functions.

/** Root of all simulated paths. */
export const simulatedRoot = '/simulated';

/** A write that was not synced. */
interface Write {
  readonly at: number;
  readonly data: Buffer;
}

class SimulatedFile {
  readonly ino = (inodes += 1);
  links = 1;
  bytes: Buffer = Buffer.alloc(0);
  changes = 0;
  #synced: Buffer = Buffer.alloc(0);
  #writes: Write[] = [];

  write(at: number, data: Buffer): void {
    this.bytes = patched(this.bytes, { at, data });
    this.#writes.push({ at, data: Buffer.from(data) });
    this.changes += 1;
  }

  /** Begins a sync; call the result when it is done. What is written meanwhile may come too late. */
  sync(): () => void {
    const writes = this.#writes.slice();
    return () => {
      this.#synced = writes.reduce(patched, this.#synced);
      this.#writes = this.#writes.filter((write) => !writes.includes(write));
    };
  }

  /** Keeps, drops or tears each write that was not synced. A write of a sector is never torn. */
  cutPower(random: Random): void {
    const kept = this.#writes.flatMap(({ at, data }) => {
      if (random.chance(0.4)) return [];
      if (data.length <= 512 && at % 512 === 0) return [{ at, data }];
      const end = random.chance(0.5) ? data.length : random.below(data.length + 1);
      return [{ at, data: data.subarray(0, end) }];
    });
    this.bytes = kept.reduce(patched, this.#synced);
    this.#synced = this.bytes;
    this.#writes = [];
  }
}

let inodes = 0;

function patched(bytes: Buffer, { at, data }: Write): Buffer {
  const result = Buffer.alloc(Math.max(bytes.length, at + data.length));
  bytes.copy(result);
  data.copy(result, at);
  return result;
}

type Node = SimulatedFile | SimulatedFolder;

class SimulatedFolder {
  readonly ino = (inodes += 1);
  readonly links = 1;
  readonly names = new Map<string, Node>();
  /** The names on disk, and after each change since. */
  #states: ReadonlyMap<string, Node>[] = [new Map()];

  set(name: string, node: Node | undefined): void {
    if (node) this.names.set(name, node);
    else this.names.delete(name);
    this.#states.push(new Map(this.names));
  }

  sync(): () => void {
    const state = this.#states.at(-1)!;
    return () => void this.#states.splice(0, this.#states.indexOf(state));
  }

  /** Changes of names reach the disk in order; some of the last ones are lost. */
  cutPower(random: Random): void {
    const state = this.#states[random.below(this.#states.length)]!;
    this.names.clear();
    for (const [name, node] of state) this.names.set(name, node);
    this.#states = [state];
    for (const node of state.values()) node.cutPower(random);
  }
}

/** How a schedule takes part in calls. */
export interface DiskHooks {
  /** Awaited before each asynchronous call. */
  readonly pause: () => Promise<void>;
  /** Disks that break a promise, to prove that the simulation notices. */
  readonly faults: ReadonlySet<DiskFault>;
}

/**
 * `no-sync`: syncs do nothing. `rename-first`: syncs of drafts do nothing. `shared-claims`: `mkdir` of
 * an existing claim succeeds. `late-claims`: `mkdir` of a claim does nothing, so that only the rename of
 * the copied files claims the epoch. `old-mark`: each write of a synced mark also reaches the journal of
 * the present owner, as when the mark was a file beside the journal.
 */
export type DiskFault = 'no-sync' | 'rename-first' | 'shared-claims' | 'late-claims' | 'old-mark';

export class SimulatedDisk {
  readonly #root = new SimulatedFolder();
  readonly #open = new Map<number, { readonly node: Node; readonly name: string; at: number }>();
  #hooks: DiskHooks = { pause: () => Promise.resolve(), faults: new Set() };
  #descriptors = 1_000_000;

  use(hooks: DiskHooks): void {
    this.#hooks = hooks;
  }

  clear(): void {
    this.#root.names.clear();
    this.#root.sync()();
    this.#open.clear();
  }

  cutPower(random: Random): void {
    this.#open.clear();
    this.#root.cutPower(random);
  }

  /** Replaces the functions of `node:fs` until the test has finished. */
  install(): void {
    const { promises } = fs;
    const isOurs = (target: unknown): boolean =>
      typeof target === 'number'
        ? target >= 1_000_000
        : typeof target === 'string' && target.startsWith(simulatedRoot);
    const routed = (ours: Record<string, unknown>, real: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(ours).map(([name, simulated]) => [
          name,
          (...args: unknown[]): unknown =>
            ((isOurs(args[0]) ? simulated : real[name]) as (...all: unknown[]) => unknown)(...args),
        ]),
      );
    const simulated = [
      [fs, this.#functions()],
      [promises, this.#promises()],
    ] as const;
    for (const [module, ours] of simulated) {
      const real = module as unknown as Record<string, unknown>;
      const before = Object.fromEntries(Object.keys(ours).map((name) => [name, real[name]]));
      Object.assign(module, routed(ours, before));
      onTestFinished(() => {
        Object.assign(module, before);
        syncBuiltinESMExports();
      });
    }
    syncBuiltinESMExports();
  }

  #functions(): Record<string, unknown> {
    return {
      openSync: (name: string, flags: string | number) => this.#openFile(name, flags),
      closeSync: (descriptor: number) => void this.#open.delete(descriptor),
      writeSync: (
        descriptor: number,
        data: Buffer,
        from = 0,
        length = data.length - from,
        position: number | null = null,
      ) => {
        const file = this.#opened(descriptor);
        const at = position ?? file.at;
        const bytes = data.subarray(from, from + length);
        (file.node as SimulatedFile).write(at, bytes);
        if (this.#hooks.faults.has('old-mark') && length === 512 && at < 1024) {
          this.#lastJournal()?.write(at, bytes);
        }
        if (position === null) file.at += length;
        return length;
      },
      fsyncSync: (descriptor: number) => this.#begin(descriptor)(),
      fdatasync: (descriptor: number, done: (error?: Error) => void) => {
        const finish = this.#begin(descriptor);
        const end = async (): Promise<void> => {
          await this.#hooks.pause();
          finish();
          done();
        };
        void end();
      },
      fstatSync: (descriptor: number) => statOf(this.#opened(descriptor).node),
      existsSync: (name: string) => this.#find(name) !== undefined,
      readFileSync: (name: string, encoding?: BufferEncoding) => {
        const { bytes } = this.#found(name) as SimulatedFile;
        return encoding ? bytes.toString(encoding) : Buffer.from(bytes);
      },
      readdirSync: (name: string) => [...(this.#found(name) as SimulatedFolder).names.keys()],
      statSync: (name: string) => statOf(this.#found(name)),
      mkdirSync: (name: string) => this.#makeFolder(name),
      renameSync: (from: string, to: string) => this.#rename(from, to),
      rmSync: (name: string) => this.#remove(name),
    };
  }

  #promises(): Record<string, unknown> {
    const paused =
      <Args extends unknown[], T>(work: (...args: Args) => T) =>
      async (...args: Args): Promise<T> => {
        await this.#hooks.pause();
        return work(...args);
      };
    return {
      mkdir: paused((name: string) => {
        const isClaim = /epoch-\d+$/.test(name);
        if (isClaim && this.#hooks.faults.has('late-claims')) return;
        if (isClaim && this.#hooks.faults.has('shared-claims') && this.#find(name)) return;
        this.#makeFolder(name);
      }),
      readdir: paused((name: string) =>
        [...(this.#found(name) as SimulatedFolder).names].map(([entry, node]) => ({
          name: entry,
          isDirectory: () => node instanceof SimulatedFolder,
        })),
      ),
      stat: paused((name: string) => statOf(this.#found(name))),
      copyFile: paused(async (from: string, to: string) => {
        const source = this.#found(from) as SimulatedFile;
        const target = new SimulatedFile();
        this.#link(to, target);
        // Not at once, and in any order: the source may be written meanwhile.
        const half = source.bytes.length >> 1;
        const copyFirst = (): void => target.write(0, source.bytes.subarray(0, half));
        const copySecond = (): void => target.write(half, source.bytes.subarray(half));
        const [before, after] =
          source.changes % 2 === 0 ? [copyFirst, copySecond] : [copySecond, copyFirst];
        before();
        await this.#hooks.pause();
        after();
      }),
      open: paused((name: string) => {
        const node = this.#found(name);
        return {
          sync: paused(() => {
            if (!this.#ignoresSync(name)) node.sync()();
          }),
          close: () => Promise.resolve(),
        };
      }),
      rename: paused((from: string, to: string) => this.#rename(from, to)),
      rm: paused((name: string) => this.#remove(name)),
    };
  }

  /** The journal in the highest epoch of the shard. */
  #lastJournal(): SimulatedFile | undefined {
    const shard = this.#find(`${simulatedRoot}/shard`) as SimulatedFolder;
    const journals = [...shard.names].flatMap(([name, node]) => {
      const epoch = Number(/^epoch-(\d+)$/.exec(name)?.[1]);
      const journal = node instanceof SimulatedFolder && node.names.get('journal.ndjson');
      return journal instanceof SimulatedFile && epoch >= 0 ? [{ epoch, journal }] : [];
    });
    return journals.toSorted((a, b) => b.epoch - a.epoch)[0]?.journal;
  }

  #begin(descriptor: number): () => void {
    const { node, name } = this.#opened(descriptor);
    return this.#ignoresSync(name) ? () => undefined : node.sync();
  }

  #ignoresSync(name: string): boolean {
    const { faults } = this.#hooks;
    return faults.has('no-sync') || (faults.has('rename-first') && /\.tmp$|\.draft\//.test(name));
  }

  #openFile(name: string, flags: string | number): number {
    const { O_CREAT, O_EXCL } = fs.constants;
    const bits = typeof flags === 'number' ? flags : 0;
    const isNew = (bits & O_CREAT) !== 0;
    const found = this.#find(name);
    if (found && (bits & O_EXCL) !== 0) throw systemError('EEXIST', name);
    if (!found && !isNew) throw systemError('ENOENT', name);
    const node = found ?? new SimulatedFile();
    if (!found) this.#link(name, node);
    this.#descriptors += 1;
    this.#open.set(this.#descriptors, { node, name, at: 0 });
    return this.#descriptors;
  }

  #opened(descriptor: number) {
    const opened = this.#open.get(descriptor);
    if (!opened) throw systemError('EBADF', `${descriptor}`);
    return opened;
  }

  #makeFolder(name: string): void {
    if (this.#find(name)) throw systemError('EEXIST', name);
    this.#link(name, new SimulatedFolder());
  }

  #rename(from: string, to: string): void {
    const node = this.#found(from);
    const replaced = this.#find(to);
    if (replaced instanceof SimulatedFolder && replaced.names.size > 0) {
      throw systemError('ENOTEMPTY', to);
    }
    if (replaced instanceof SimulatedFile) replaced.links -= 1;
    this.#parent(from).set(path.basename(from), undefined);
    this.#link(to, node);
  }

  #remove(name: string): void {
    const node = this.#find(name);
    if (!node) return;
    const unlink = (each: Node): void => {
      if (each instanceof SimulatedFile) each.links -= 1;
      else for (const child of each.names.values()) unlink(child);
    };
    unlink(node);
    if (node instanceof SimulatedFolder) {
      for (const child of node.names.keys()) node.set(child, undefined);
    }
    this.#parent(name).set(path.basename(name), undefined);
  }

  #link(name: string, node: Node): void {
    this.#parent(name).set(path.basename(name), node);
  }

  #parent(name: string): SimulatedFolder {
    const parent = this.#found(path.dirname(name));
    if (parent instanceof SimulatedFolder) return parent;
    throw systemError('ENOTDIR', name);
  }

  #found(name: string): Node {
    const node = this.#find(name);
    if (node) return node;
    throw systemError('ENOENT', name);
  }

  #find(name: string): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const part of name.slice(simulatedRoot.length).split('/')) {
      if (part === '') continue;
      node = node instanceof SimulatedFolder ? node.names.get(part) : undefined;
    }
    return node;
  }
}

const statOf = (node: Node) => ({
  size: node instanceof SimulatedFile ? node.bytes.length : 0,
  mtimeNs: node instanceof SimulatedFile ? node.changes : 0,
  ino: node.ino,
  nlink: node.links,
  isFile: () => node instanceof SimulatedFile,
  isDirectory: () => node instanceof SimulatedFolder,
});

const systemError = (code: string, name: string): Error =>
  Object.assign(new Error(`${code}: ${name}`), { code });

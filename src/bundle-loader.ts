import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { Script } from 'node:vm';

/** Loads the files of the published bundle. */
export interface BundleLoader {
  /** What `require` is to them. */
  readonly load: (name: string) => unknown;
  /** Keeps what V8 compiled here for later processes. To be called before V8 gets other flags. */
  readonly keep: () => void;
}

interface Bundle {
  /** Absolute path of its folder. */
  readonly folder: string;
  /** Another one for each build. */
  readonly digest: string;
  /** For what is not in it. */
  readonly require: (name: string) => unknown;
}

interface Module {
  readonly exports: object;
}

type Run = (exports: object, require: unknown, module: Module, file: string, dir: string) => void;

/**
 * Compiling takes a quarter of the time to the first request, so what V8 made of the bundle for an
 * earlier process lies in the user's cache folder: apart for each build and version of Node, since V8
 * does not compare the source. It is code: it is read only where nobody else may write, and is on the
 * disk before it has its name. Without it, or where V8 refuses it, files are compiled as ever.
 */
export function bundleLoader({ folder, digest, require }: Bundle): BundleLoader {
  const cache = cacheFolder(`${digest}-${process.version}-${process.arch}`);
  const mayRead = isPrivate(cache);
  const modules = new Map<string, Module>();
  const compiled = new Map<string, Script>();

  const compile = (name: string, filename: string): Run => {
    const source = `(function (exports, require, module, __filename, __dirname) { ${readFileSync(filename, 'utf8')}\n})`;
    const cachedData = mayRead ? readIfThere(join(cache, name)) : undefined;
    const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
    if (script.cachedDataRejected !== false) compiled.set(name, script);
    return script.runInThisContext() as Run;
  };

  const load = (name: string): unknown => {
    if (!name.startsWith('./')) return require(name);
    const known = modules.get(name);
    if (known) return known.exports;
    const module = { exports: {} };
    modules.set(name, module);
    const file = join(folder, name);
    compile(name, file)(module.exports, load, module, file, folder);
    return module.exports;
  };

  const keep = (): void => {
    if (compiled.size === 0 || !makePrivate(cache)) return;
    for (const [name, script] of compiled) write(join(cache, name), script.createCachedData());
    compiled.clear();
  };

  return { load, keep: () => unlessItFails(keep, undefined) };
}

/** A relative path where this user has no home: nothing is read there, and nothing kept. */
function cacheFolder(name: string): string {
  const { env, platform } = process;
  const inHome = platform === 'darwin' ? 'Library/Caches' : '.cache';
  const caches =
    (platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_CACHE_HOME']) ||
    join(unlessItFails(homedir, ''), inHome);
  return join(caches, 'engagectl', name);
}

/** Windows knows no such modes: there the folder lies in the user's profile. */
const isPrivate = (folder: string): boolean =>
  unlessItFails(() => {
    const { uid, mode } = statSync(folder);
    const isOurs = process.getuid === undefined || (uid === process.getuid() && !(mode & 0o022));
    return isAbsolute(folder) && isOurs;
  }, false);

/** In a place for caches that is there: in a container, which hardly runs twice, there is mostly none. */
function makePrivate(folder: string): boolean {
  const place = dirname(dirname(folder));
  if (!isAbsolute(place) || !statSync(place).isDirectory()) return false;
  // One by one: Node 20 never comes back from a recursive one under /proc.
  for (const each of [dirname(folder), folder]) if (!existsSync(each)) mkdirSync(each, 0o700);
  return isPrivate(folder);
}

const readIfThere = (file: string): Buffer | undefined =>
  unlessItFails(() => readFileSync(file), undefined);

function write(file: string, data: Buffer): void {
  const part = `${file}.${process.pid}`;
  writeFileSync(part, data, { mode: 0o600, flush: true });
  renameSync(part, file);
}

/** Whatever fails here costs time and nothing else. */
function unlessItFails<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}

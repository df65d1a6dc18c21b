import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder: string;
let caches: string;
let digest: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'engagectl-bundle-'));
  caches = path.join(folder, 'caches');
  digest = randomUUID();
  mkdirSync(caches);
  write('first.cjs', 'exports.first = 1; exports.second = require("./second.cjs");');
  write(
    'second.cjs',
    'module.exports = { name: require("node:path").basename(__filename), back: require("./first.cjs").first };',
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
const loaded = { first: 1, second: { name: 'second.cjs', back: 1 } };
const both = ['first.cjs', 'second.cjs'];

const program = `
  import { createRequire } from 'node:module';
  import { bundleLoader } from ${JSON.stringify(new URL('../dist/bundle-loader.js', import.meta.url))};
  const [folder, digest] = process.argv.slice(1);
  const { load, keep } = bundleLoader({ folder, digest, require: createRequire(folder) });
  console.log(JSON.stringify(load('./first.cjs')));
  keep();`;

/** What a process of its own loads, since V8 remembers what it compiled, and which files it kept anew. */
function run(place = caches): { readonly exports: unknown; readonly kept: readonly string[] } {
  const before = new Map(files().map((file) => [file, statSync(file).ino]));
  const stdout = execFileSync(
    process.execPath,
    ['--input-type=module', '--eval', program, folder, digest],
    { cwd: folder, env: { XDG_CACHE_HOME: place }, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const kept = files().filter((file) => statSync(file).ino !== before.get(file));
  return {
    exports: JSON.parse(stdout.toString()),
    kept: kept.map((file) => path.basename(file)).sort(),
  };
}

const files = () =>
  readdirSync(caches, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

// There the variable says where caches lie.
describe.runIf(process.platform === 'linux')('what V8 compiled', () => {
  it('is kept once', () => {
    expect(run()).toEqual({ exports: loaded, kept: both });
    expect(run()).toEqual({ exports: loaded, kept: [] });
    for (const file of files()) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is kept anew where V8 refuses it', () => {
    run();
    for (const file of files()) {
      for (const broken of ['', 'nothing of V8', readFileSync(file).subarray(0, -100)]) {
        writeFileSync(file, broken);
        expect(run()).toEqual({ exports: loaded, kept: [path.basename(file)] });
      }
    }
  });

  it('is not taken for another build of the same length', () => {
    run();
    write('first.cjs', readFileSync(path.join(folder, 'first.cjs'), 'utf8').replace('1', '2'));
    digest = randomUUID();
    expect(run()).toMatchObject({ exports: { first: 2 }, kept: both });
  });

  it('is neither read nor kept where others may write', () => {
    run();
    for (const file of files()) {
      writeFileSync(file, 'not ours');
      chmodSync(path.dirname(file), 0o770);
    }
    expect(run()).toEqual({ exports: loaded, kept: [] });
  });

  it.each([
    ['no place for caches is there', () => path.join(folder, 'none')],
    ['that place is relative', () => 'caches'],
    ['that place is a file', () => path.join(folder, 'first.cjs')],
  ])('is not kept where %s', (_, place) => {
    expect(run(place())).toEqual({ exports: loaded, kept: [] });
  });
});

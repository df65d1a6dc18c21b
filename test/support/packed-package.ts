import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

/** A project in a temporary folder that has the package installed, and beside it libsql and nothing else. */
export interface PackedProject {
  readonly folder: string;
  /** The folder of the installed package. */
  readonly installed: string;
  readonly tarball: string;
  readonly packed: Packed;
  readonly remove: () => void;
}

/** Packs the build of the checkout as it is, and installs it in a new project. */
export function packedProject(): PackedProject {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-package-'));
  const installed = path.join(folder, 'node_modules/engagectl');
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const stdout = execFileSync('npm', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  const [packed] = JSON.parse(stdout.toString()) as [Packed];
  const tarball = path.join(folder, packed.filename);
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xf', tarball, '--strip=1', '-C', installed]);
  symlinkSync(path.join(root, 'node_modules/libsql'), path.join(folder, 'node_modules/libsql'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, installed, tarball, packed, remove };
}

/** Returns what the compiler reports for programs of a strict project that also checks the types of its libraries. */
export function typeErrors(
  scripts: string | string[],
  more = '--module nodenext --types node',
  tsc = path.join(root, 'node_modules/.bin/tsc'),
) {
  const require = createRequire(import.meta.url);
  const types = path.dirname(path.dirname(require.resolve('@types/node/package.json')));
  const options = `--ignoreConfig --noEmit --strict --skipLibCheck false --exactOptionalPropertyTypes --target es2022 ${more} --typeRoots ${types}`;
  const { status, stdout } = spawnSync(tsc, [...options.split(' '), scripts].flat(), {
    encoding: 'utf8',
  });
  return { status, stdout };
}

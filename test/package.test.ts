import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

// What `npm pack` makes of the checkout, and that it runs by itself.

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-package-'));
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
};

interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}
let packed: Packed;

beforeAll(() => {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const stdout = execFileSync('npm', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  [packed] = JSON.parse(stdout.toString()) as [Packed];
  execFileSync('tar', ['-xf', path.join(folder, packed.filename)], { cwd: folder });
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'package/node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('holds the program, its types and its papers, and nothing else', () => {
  const wanted =
    /^(bin\/engagectl\.js|dist\/.+\.(js|d\.ts|wasm)|dist\/man\/[\w-]+\.1|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
  expect(packed.files.map((file) => file.path).filter((name) => !wanted.test(name))).toEqual([]);
  expect(packed.unpackedSize).toBeLessThan(3_000_000);
  const bin = packed.files.find((file) => file.path === 'bin/engagectl.js');
  expect(((bin?.mode ?? 0) & 0o777).toString(8)).toBe('755');
});

it('runs nothing when it is installed', () => {
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
    expect(manifest.scripts).not.toHaveProperty(name);
});

it('has a chapter of its version in the CHANGELOG', () => {
  const changes = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8');
  expect(changes).toContain(`## [${manifest.version}] - `);
});

it('runs by itself', () => {
  const bin = path.join(folder, 'package/bin/engagectl.js');
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [bin, ...args], {
      cwd: folder,
      env: { ENGAGECTL_STATE_DIR: path.join(folder, 'state'), HOME: folder },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).toString();
  expect(run('--version')).toBe(`${manifest.version}\n`);
  expect(run('upload', '--help')).toContain('Usage: engagectl upload');
  expect(run('doctor', '--region', 'local', '--json')).toContain('"ok":true');
});

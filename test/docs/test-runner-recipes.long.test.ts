import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { packedProject, typeErrors } from '../support/packed-package.js';
import { binPath } from '../support/processes/bin-process.js';

// The recipes of docs/test-runners.md, run as they stand there, in a project that has the packed package installed.

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(path.join(root, 'docs/test-runners.md'), 'utf8');
/** Blocks of the page by the file name in their first line. */
const recipes = new Map(
  [...page.matchAll(/^```\w+\n(?:\/\/|#) (\S+)\n([^]*?)^```$/gm)].map(([, name, code]) => [
    name!,
    code!,
  ]),
);

const project = packedProject();
afterAll(project.remove);
const programs = path.join(project.folder, 'bin');
mkdirSync(programs);
symlinkSync(binPath, path.join(programs, 'engagectl'));
for (const name of ['vitest', 'jest'])
  symlinkSync(
    path.join(root, 'node_modules', name),
    path.join(project.folder, 'node_modules', name),
  );

/** Runs a command in a folder of the project that has only these files of the page. */
function run(files: readonly string[], command: string, words: readonly string[]) {
  const folder = mkdtempSync(path.join(project.folder, 'recipe-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of files) {
    const code = recipes.get(name);
    if (code === undefined) throw new Error(`docs/test-runners.md has no block of ${name}`);
    writeFileSync(path.join(folder, name), code);
  }
  writeFileSync(path.join(folder, 'package.json'), '{}');
  const PATH = [programs, process.env['PATH'], path.dirname(process.execPath)].join(':');
  const { stdout, stderr, status } = spawnSync(command, words, {
    cwd: folder,
    // GOFLAGS: a folder without go.mod. CI: runners that would watch or write snapshots do not.
    env: { PATH, TMPDIR: folder, HOME: folder, CI: 'true', NO_COLOR: '1', GO111MODULE: 'off' },
    encoding: 'utf8',
    timeout: 120_000, // a service that did not end would keep its runner waiting
  });
  return { status, output: stdout + stderr };
}

it('of vitest passes', () => {
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const { status, output } = run(['save-city.js', 'city.test.ts'], process.execPath, [
    vitest,
    'run',
  ]);
  expect(output).toContain('2 passed');
  expect(status, output).toBe(0);
});

it('of Jest passes in its default set-up and leaves nothing open', () => {
  const jest = path.join(root, 'node_modules/jest/bin/jest.js');
  const words = [jest, '--detectOpenHandles'];
  const { status, output } = run(['save-city.js', 'city.test.js'], process.execPath, words);
  expect(output).toContain('2 passed');
  expect(output).not.toMatch(/did not exit|open handle/);
  expect(status, output).toBe(0);
});

it('of node:test passes', () => {
  const { status, output } = run(['save-city.js', 'city.test.mjs'], process.execPath, ['--test']);
  expect(output).toMatch(/pass 2\b/);
  expect(status, output).toBe(0);
});

/** Stands for pytest where it is not installed: runs the fixture and the test by hand. */
const withoutPytest = `
import pathlib, sys, tempfile, types
class Factory:
    def mktemp(self, name): return pathlib.Path(tempfile.mkdtemp(prefix=name))
sys.modules["pytest"] = types.SimpleNamespace(fixture=lambda **_: lambda function: function)
import conftest, test_city
running = conftest.engage(Factory())
test_city.test_uploads_the_city(next(running))
assert next(running, None) is None
print("1 passed")
`;
const isInstalled = (command: string, ...words: string[]) =>
  spawnSync(command, words, { stdio: 'ignore' }).status === 0;

it.skipIf(!isInstalled('python3', '--version'))('of pytest passes, and the service ends', () => {
  const words = isInstalled('python3', '-m', 'pytest', '--version')
    ? ['-m', 'pytest', '-q', '-p', 'no:cacheprovider']
    : ['-c', withoutPytest];
  const { status, output } = run(['conftest.py', 'test_city.py'], 'python3', words);
  expect(output).toContain('1 passed');
  expect(status, output).toBe(0);
});

it.skipIf(!isInstalled('go', 'version'))('of Go passes, and the service ends', () => {
  const { status, output } = run(['city_test.go'], 'go', ['test', '.']);
  expect(output).toMatch(/^ok /m);
  expect(status, output).toBe(0);
});

it('type-checks for vitest', () => {
  const script = path.join(project.folder, 'city.test.mts');
  writeFileSync(script, recipes.get('city.test.ts')!);
  writeFileSync(
    path.join(project.folder, 'save-city.d.ts'),
    'export function saveCity(identity: string, City: string, env?: NodeJS.ProcessEnv): Promise<void>;',
  );
  const options = '--module esnext --moduleResolution bundler --types node --skipLibCheck true';
  expect(typeErrors(script, options)).toEqual({ status: 0, stdout: '' });
});

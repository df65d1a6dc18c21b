import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { packedProject } from '../support/packed-package.js';

// `engagectl/calling` in the tools of React Native projects, and the package `engagectl-calling`.

const root = fileURLToPath(new URL('../../', import.meta.url));
const { folder, installed, remove } = packedProject();
afterAll(remove);

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;

// Metro finds files by a list of folders, and adds its own runtime to a bundle.
const bundler = `
const [projectRoot, root, exports] = process.argv.slice(1);
const Metro = require(root + 'node_modules/metro');
const config = {
  projectRoot,
  watchFolders: [root + 'node_modules/metro-runtime'],
  cacheStores: [],
  maxWorkers: 1,
  resolver: { unstable_enablePackageExports: exports === 'true', resolverMainFields: ['react-native', 'browser', 'main'], useWatchman: false },
  transformer: {
    babelTransformerPath: root + 'node_modules/metro-babel-transformer',
    asyncRequireModulePath: root + 'node_modules/metro-runtime/src/modules/asyncRequire.js',
    enableBabelRCLookup: false,
    getTransformOptions: async () => ({ transform: { experimentalImportSupport: true, inlineRequires: false } }),
  },
  reporter: { update() {} },
};
Metro.loadConfig({}, config)
  .then((loaded) => Metro.runBuild(loaded, { entry: 'app.js', platform: 'android', dev: false, minify: false }))
  .then(({ code }) => process.stdout.write(code, () => process.exit(0)));`;

/** Has Metro bundle an app that imports the module, and runs the bundle. */
function runInMetro(name: string, hasExports: boolean) {
  const app = `import SignedCall, { createSignedCall, validateCuid } from '${name}';
    console.log(typeof SignedCall.initialize, typeof createSignedCall, validateCuid('ann_1').length);`;
  writeFileSync(path.join(folder, 'app.js'), app);
  const args = ['-e', bundler, folder, root, String(hasExports)];
  const bundle = execFileSync(process.execPath, args, { encoding: 'utf8' });
  return spawnSync(process.execPath, { input: bundle, encoding: 'utf8' });
}

const file = (...names: string[]) => path.join(installed, ...names);

it.each([
  ['with package exports', true],
  ['without package exports', false],
])('is bundled by Metro %s', (_, hasExports) => {
  const { stdout, stderr } = runInMetro('engagectl/calling', hasExports);
  expect([stdout, stderr]).toEqual(['function function 0\n', '']);
});

it('is one file that loads no other', () => {
  expect(readFileSync(file('dist/calling/cjs/index.js'), 'utf8')).not.toMatch(
    /\brequire\(|\bimport\b[ (]/,
  );
});

it('lets require find the module without package exports, as Jest does', () => {
  const require = createRequire(path.join(folder, 'app.js'));
  expect(require.resolve('engagectl/calling')).toBe(file('dist/calling/cjs/index.js'));
  expect(require('engagectl/calling')).toHaveProperty('default');
  // Older resolvers read the folder.
  expect(require.resolve(installed + '/calling')).toBe(file('dist/calling/cjs/index.js'));
  expect(require.resolve(installed + '/calling/node')).toBe(file('dist/library-calling-node.cjs'));
});

const app = `import SignedCall, { CallEvent, createSignedCall, type SignedCallResponse } from 'MODULE';
export async function call(): Promise<string> {
  const { initialize } = SignedCall;
  const response: SignedCallResponse = await initialize({ accountId: 'a', apiKey: 'k', cuid: 'ann_1' });
  if (!response.isSuccessful) return response.error.errorName;
  const nothing: null = response.error;
  return nothing ?? CallEvent.Ended;
}
// @ts-expect-error -- not an environment
createSignedCall(7);`;

/** What TypeScript 6 reports, which still has the resolution of older React Native projects. */
function compile(name: string, moduleName: string, options: string): string {
  const script = path.join(folder, name);
  writeFileSync(script, app.replace('MODULE', moduleName));
  const tsc = path.join(root, 'node_modules/@typescript/typescript6/lib/tsc.js');
  const args = `--ignoreConfig --noEmit --strict --esModuleInterop --target es2022 --types ${options}`;
  const run = spawnSync(
    process.execPath,
    [tsc, ...args.split(' ').filter((arg) => arg !== '--types'), script],
    {
      encoding: 'utf8',
      cwd: folder,
    },
  );
  return run.stdout + run.stderr;
}

const resolutions = [
  ['app.ts', '--module commonjs --moduleResolution node10 --ignoreDeprecations 6.0'],
  ['app.cts', '--module node16 --moduleResolution node16'],
  ['app.mts', '--module node16 --moduleResolution node16'],
  ['app.ts', '--module esnext --moduleResolution bundler'],
] as const;

it.each(resolutions)('gives TypeScript the types for %s with %s', (name, options) => {
  expect(compile(name, 'engagectl/calling', options)).toBe('');
});

it('packs engagectl-calling as 40 kB with the same module and types, and nothing else', () => {
  const from = path.join(root, 'packages/calling');
  expect(read(path.join(from, 'package.json'))['version']).toBe(
    read(path.join(root, 'package.json'))['version'],
  );
  const args = ['pack', '--json', '--pack-destination', folder];
  const stdout = execFileSync('npm', args, { cwd: from, stdio: ['ignore', 'pipe', 'ignore'] });
  const text = stdout.toString();
  const [packed] = JSON.parse(text.slice(text.indexOf('['))) as [
    { filename: string; size: number; files: { path: string }[] },
  ];
  expect(packed.size).toBeLessThanOrEqual(40_000);
  expect(packed.files.map((file) => file.path).toSorted()).toEqual(
    ['LICENSE', 'README.md', 'dist/index.d.ts', 'dist/index.js', 'package.json'].toSorted(),
  );
  const target = path.join(folder, 'node_modules/engagectl-calling');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xf', path.join(folder, packed.filename), '--strip=1', '-C', target]);
  for (const hasExports of [true, false])
    expect(runInMetro('engagectl-calling', hasExports).stdout).toBe('function function 0\n');
  expect(readFileSync(path.join(target, 'dist/index.js'), 'utf8')).toBe(
    readFileSync(file('dist/calling/cjs/index.js'), 'utf8'),
  );
  for (const [name, options] of [resolutions[0], resolutions[1], resolutions[3]])
    expect(compile(name, 'engagectl-calling', options)).toBe('');
});

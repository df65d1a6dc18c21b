import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolve, type ResolutionContext } from 'metro-resolver';
import { afterAll, expect, it } from 'vitest';
import { packedProject } from '../support/packed-package.js';

// `engagectl/calling` in the tools of React Native projects, and the package `engagectl-calling`. Metro itself is not
// installed; its resolver is, and it decides which file an app gets.

const root = fileURLToPath(new URL('../../', import.meta.url));
const { folder, installed, remove } = packedProject();
afterAll(remove);

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;

/** Resolves a module as Metro does for an app in the folder. */
function metro(name: string, unstable_enablePackageExports: boolean): string {
  const isFile = (file: string) => existsSync(file) && statSync(file).isFile();
  const packageOf = (file: string) => {
    for (let at = file; at !== path.dirname(at); at = path.dirname(at)) {
      const rootPath = path.join(at, 'package.json');
      if (isFile(rootPath))
        return {
          packageJson: read(rootPath),
          rootPath: at,
          packageRelativePath: path.relative(at, file),
        };
    }
    return null;
  };
  const context = {
    allowHaste: false,
    assetExts: new Set(['png']),
    customResolverOptions: {},
    dev: true,
    disableHierarchicalLookup: false,
    doesFileExist: isFile,
    extraNodeModules: null,
    fileSystemLookup: (file: string) =>
      existsSync(file)
        ? { exists: true, type: isFile(file) ? 'f' : 'd', realPath: file }
        : { exists: false },
    getPackage: (file: string) => (isFile(file) ? read(file) : null),
    getPackageForModule: packageOf,
    isESMImport: true,
    mainFields: ['react-native', 'browser', 'main'],
    nodeModulesPaths: [],
    originModulePath: path.join(folder, 'App.tsx'),
    preferNativePlatform: true,
    resolveAsset: () => null,
    resolveHasteModule: () => null,
    resolveHastePackage: () => null,
    redirectModulePath: (file: string) => file,
    sourceExts: ['js', 'jsx', 'json', 'ts', 'tsx'],
    unstable_conditionNames: ['react-native'],
    unstable_conditionsByPlatform: {},
    unstable_enablePackageExports,
    unstable_logWarning: () => undefined,
  } as unknown as ResolutionContext;
  const found = resolve(context, name, 'android');
  if (found.type !== 'sourceFile') throw new Error(`${name} is a ${found.type}`);
  return found.filePath;
}

const file = (...names: string[]) => path.join(installed, ...names);

it.each([
  ['with package exports', true],
  ['without package exports', false],
])('lets Metro bundle one CommonJS file %s, which runs', (_, exports) => {
  const found = metro('engagectl/calling', exports);
  expect(found).toBe(file('dist/calling/cjs/index.js'));
  const script = `const sdk = require(${JSON.stringify(found)});
    console.log(typeof sdk.default.initialize, typeof sdk.createSignedCall, sdk.validateCuid('ann_1').length);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual(['function function 0\n', '']);
  expect(readFileSync(found, 'utf8')).not.toMatch(/\brequire\(|\bimport\b[ (]/);
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
  for (const exports of [true, false])
    expect(metro('engagectl-calling', exports)).toBe(path.join(target, 'dist/index.js'));
  expect(readFileSync(path.join(target, 'dist/index.js'), 'utf8')).toBe(
    readFileSync(file('dist/calling/cjs/index.js'), 'utf8'),
  );
  for (const [name, options] of [resolutions[0], resolutions[1], resolutions[3]])
    expect(compile(name, 'engagectl-calling', options)).toBe('');
});

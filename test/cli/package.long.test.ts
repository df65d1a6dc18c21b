import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import module from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../src/testing.js';
import { packedProject, typeErrors, type Packed } from '../support/packed-package.js';

// What `npm pack` makes of the checkout, and that it runs by itself: installed beside libsql, whose
// native part is not in the bundle, and no other package. `prepack` puts the bundle in the place of the build; here
// it gets a folder of its own, because other tests run the build.

const root = fileURLToPath(new URL('../../', import.meta.url));
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly man: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
};

const { folder, installed, packed, remove } = packedProject();
afterAll(remove);

const filesOf = ({ files }: Packed) => files.map((file) => file.path);

it('contains the program, its types and its documents, and nothing else', () => {
  const wanted =
    /^(bin\/engagectl\.js|bin\/package\.json|dist\/(index|testing|calling\/index|calling\/node\/index)\.js|dist\/[\w-]+\.(cjs|wasm)|dist\/(index|testing|calling\/node\/index)\.d\.c?ts|dist\/calling\/index\.d\.ts|dist\/calling\/cjs\/(index\.js|index\.d\.ts|package\.json)|calling\/(node\/)?package\.json|dist\/man\/[\w-]+\.1|dist\/THIRD-PARTY-LICENSES|package\.json|docs\/[\w-]+\.md|fixtures\/recording\.svg|README\.md|LICENSE|SECURITY\.md|CHANGELOG\.md)$/;
  expect(filesOf(packed).filter((name) => !wanted.test(name))).toEqual([]);
  expect(packed.unpackedSize).toBeLessThan(4_660_000); // 0.3 MB of them are the rules of phone numbers
  const bin = packed.files.find((file) => file.path === 'bin/engagectl.js');
  expect(((bin?.mode ?? 0) & 0o777).toString(8)).toBe('755');
});

it('contains every manual page', () => {
  expect(filesOf(packed)).toEqual(expect.arrayContaining([...manifest.man]));
});

it('names the license of every package whose code it bundles', () => {
  const licences = readFileSync(path.join(installed, 'dist/THIRD-PARTY-LICENSES'), 'utf8');
  for (const name of ['cli-progress', 'commander', 'conf', 'libsql', 'ora', 'undici'])
    expect(licences).toMatch(
      new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\n([\\w-]+ \\S+\\n)*\\n[^]*?Permission`, 'm'),
    );
});

it.each([
  ['main', []],
  ['program', ['commander']],
  ['run', []],
])('keeps %s.cjs light', (name, packages) => {
  const text = readFileSync(path.join(installed, `dist/${name}.cjs`), 'utf8');
  // Above each module the bundle says where it comes from.
  const found = [...text.matchAll(/^\/\/ node_modules\/([^/]+)\//gm)].map((match) => match[1]);
  expect([...new Set(found)]).toEqual(packages);
  const loaded = [...text.matchAll(/^const .* = require\("\.\/(.+)\.cjs"\);$/gm)].map(
    (match) => match[1],
  );
  expect(['rolldown-runtime', 'main', 'program']).toEqual(expect.arrayContaining(loaded));
  // What Node has in itself takes time to be loaded, too: TLS and its cryptography 15 ms, os 0.1 ms.
  const builtin = [...text.matchAll(/^let .* = require\("node:(.+)"\);$/gm)].map(
    (match) => match[1],
  );
  if (name !== 'run')
    expect(['events', 'fs', 'fs/promises', 'os', 'path', 'timers/promises']).toEqual(
      expect.arrayContaining(builtin),
    );
});

it.each([
  ['--version', ['process', 'main', 'rolldown-runtime']],
  ['--help', ['process', 'main', 'rolldown-runtime', 'program']],
])('loads few files for %s', (flag, files) => {
  const script = `process.argv.splice(1, 0, ${JSON.stringify(bin)}, '${flag}');
    process.on('exit', () => console.error(Object.keys(require.cache).join('\\n')));
    require(process.argv[1]);`;
  const { stderr, stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  const loaded = [...stderr.matchAll(/dist\/([\w-]+)\.cjs$/gm)].map((match) => match[1]);
  expect(stdout).not.toBe('');
  expect(new Set(loaded)).toEqual(new Set(files));
});

it('does not bundle the locales of zod', () => {
  const dist = path.join(installed, 'dist');
  const texts = readdirSync(dist).filter((name) => name.endsWith('.cjs'));
  for (const name of texts) {
    const text = readFileSync(path.join(dist, name), 'utf8');
    expect(text).not.toMatch(/^\/\/ node_modules\/zod\/v4\/locales\/(?!en\.)/m);
  }
});

it('does not depend on packages that it bundles', () => {
  expect(Object.keys(manifest.dependencies)).toEqual(['libsql']);
});

it('uses its own name in advice when a package manager script starts it', () => {
  const { stderr } = run(bin, ['uplaod'], { npm_command: '' });
  expect(stderr).toContain('did you mean: engagectl upload\n');
});

it('has self-contained types, which need Node only outside of calling', () => {
  const declarations = filesOf(packed).filter((name) => /\.d\.c?ts$/.test(name));
  expect(declarations).toHaveLength(8);
  for (const file of declarations) {
    const text = readFileSync(path.join(installed, file), 'utf8');
    const imported = [...text.matchAll(/\b(?:from|import)\b ?\(?['"]([^'"]+)['"]/g)];
    expect(imported.map((one) => one[1]).filter((name) => !name?.startsWith('node:'))).toEqual([]);
    expect(
      /\bnode\b|\bNodeJS\b|\bBuffer\b/.test(text.replaceAll(/\/\*\*[^]*?\*\//g, '')),
      file,
    ).toBe(!file.startsWith('dist/calling/'));
    expect(text, file).not.toMatch(/_js\b|\bdeclare namespace\b/);
  }
});

it('runs no install script', () => {
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
    expect(manifest.scripts).not.toHaveProperty(name);
});

it('has a section for its version in the CHANGELOG', () => {
  const changes = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8');
  expect(changes).toContain(`## [${manifest.version}] - `);
});

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one of the two programs in the folder, with a home there and no settings. */
function run(bin: string, args: readonly string[], env: Record<string, string> = {}): Outcome {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
    cwd: folder,
    // By npm_command both are called by the same name.
    env: {
      HOME: folder,
      ENGAGECTL_STATE_DIR: path.join(folder, 'state'),
      npm_command: 'exec',
      ...env,
    },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const bin = path.join(installed, 'bin/engagectl.js');
const fixture = (name: string) => path.join(root, 'fixtures', name);
const upload = [
  'upload',
  fixture('profiles.csv'),
  '--mapping',
  fixture('mapping.json'),
  '--region',
  'local',
];

describe('D prints the same as the build', () => {
  const same = (args: readonly string[], env?: Record<string, string>) => {
    const outcome = run(bin, args, env);
    expect(outcome).toEqual(run(path.join(root, 'bin/engagectl.js'), args, env));
    return outcome;
  };

  it.each<[string, number]>([
    ['--version', 0],
    ['--help', 0],
    ['upload --help', 0],
    ['help environment', 0],
    ['help exit-codes', 0],
    ['help errors E-JOURNAL', 0],
    ['help formats', 0],
    ['help resume', 0],
    ['help security', 0],
    ['completion bash', 0],
    ['completion zsh', 0],
    ['completion fish', 0],
    ['config list', 0],
    ['runs list', 0],
    ['upload', 2],
    ['upload none.csv --region local', 9],
    ['upload none.csv --region local --json', 9],
    ['uplaod', 2],
  ])('for %s', (line, status) => {
    expect(same(line.split(' '))).toMatchObject({ status });
  });

  it('for a preview', () => {
    expect(same([...upload, '--preview', '2'])).toMatchObject({ status: 3 });
  });

  it('for a mapping file with other content', () => {
    const mapping = path.join(folder, 'wrong.json');
    writeFileSync(mapping, '{"identitty":"id"}');
    const { status, stderr } = same([...upload.slice(0, 2), '--mapping', mapping]);
    expect(status).toBe(2);
    expect(stderr).toContain('identitty');
  });

  it('for a saved account, and for an unreachable proxy', () => {
    const passcode = path.join(folder, 'passcode');
    writeFileSync(passcode, 'secret', { mode: 0o600 });
    const address = 'https://eu1.example.invalid';
    const account = ['--region', 'eu1', '--base-url', address, '--account-id', 'ACC-1'];
    const set = ['config', 'set', ...account, '--passcode-file', passcode, '--no-check'];
    expect(run(bin, set)).toMatchObject({ status: 0 });
    expect(same(['config', 'show']).stdout).toContain('ACC-1');
    const proxy = { https_proxy: 'http://127.0.0.1:9' };
    expect(same(['config', 'check', '--max-attempts', '1'], proxy)).toMatchObject({ status: 5 });
  });
});

it('prints what to do when the native part of libsql is missing', () => {
  const alone = mkdtempSync(path.join(tmpdir(), 'engagectl-alone-'));
  onTestFinished(() => rmSync(alone, { recursive: true, force: true }));
  cpSync(installed, alone, { recursive: true });
  const program = path.join(alone, 'bin/engagectl.js');
  const account = {
    ENGAGECTL_BASE_URL: 'http://127.0.0.1:9',
    ENGAGECTL_ACCOUNT_ID: 'A',
    ENGAGECTL_PASSCODE: 'p',
  };
  for (const [args, env] of [
    [['get-profile', 'u1', '--region', 'local'], {}],
    [['upload', fixture('profiles.csv')], account],
  ] as const) {
    const { status, stderr } = run(program, args, env);
    expect([status, stderr]).toEqual([2, expect.stringContaining('is not installed')]);
    expect(stderr).toContain('fix: install engagectl again, without --omit=optional');
  }
  // Another failed attempt to load it finds the same.
  const { status, stdout, stderr } = run(program, ['doctor', '--region', 'local']);
  expect([status, stderr]).toEqual([2, expect.stringContaining('2 of 11 checks failed')]);
  for (const check of ['lock', 'request'])
    expect(stdout).toMatch(
      new RegExp(`^failed +${check} .*is not installed.*\\n +fix: install`, 'm'),
    );
});

describe('D works as a command', () => {
  it('uploads with progress and a report', () => {
    const shown = ['--progress', 'always', '--report', 'run.html', '--json'];
    const { status, stdout } = run(bin, [...upload, ...shown]);
    expect(status).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ read: 5000, accepted: 4995, rejected: 5 });
    expect(readFileSync(path.join(folder, 'run.html'), 'utf8')).toContain('4,995');
    const events = ['upload', '--type', 'event', fixture('events.ndjson'), '--region', 'local'];
    expect(run(bin, events)).toMatchObject({ status: 0 });
  });

  it('starts from the compile cache, if Node keeps one', () => {
    const caches = path.join(folder, 'caches');
    mkdirSync(caches);
    const check = () => run(bin, [...upload, '--quiet'], { XDG_CACHE_HOME: caches });
    const first = check();
    expect(first).toMatchObject({ status: 3 });
    const keeps = 'enableCompileCache' in module;
    expect(readdirSync(caches)).toEqual(keeps ? ['engagectl'] : []);
    expect(check()).toEqual(first);
  });

  it('exports what it uploaded', () => {
    const profile = run(bin, ['get-profile', 'crm-00000', '--region', 'local']);
    expect(JSON.parse(profile.stdout)).toMatchObject({ email: 'user0@example.test' });
    const days = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-14'];
    const read = ['export-profiles', ...days, '--region', 'local'];
    const { stdout } = run(bin, read);
    const records = stdout.trimEnd().split('\n');
    expect(records.length).toBeGreaterThan(100);
    for (const record of records) expect(JSON.parse(record)).toHaveProperty('profileData');
    const csv = run(bin, [...read, '--format', 'csv'])
      .stdout.trimEnd()
      .split('\n');
    expect(csv[0]).toContain('profileData.City');
    expect(csv).toHaveLength(records.length + 1);
  });

  it('finds nothing wrong in verify', () => {
    const { status, stdout } = run(bin, ['doctor', '--region', 'local', '--json']);
    expect(status).toBe(0);
    expect(stdout).toContain('"ok":true');
  });
});

describe('D works as a library', () => {
  it('exports the same names as index.ts', async () => {
    const script = path.join(folder, 'use.mjs');
    writeFileSync(
      script,
      `import * as library from 'engagectl';
       const { main, nodeRuntime } = library;
       console.log(Object.keys(library).join());
       process.exitCode = await main(['--version'], nodeRuntime(new AbortController().signal));`,
    );
    const { stdout } = run(script, []);
    const names = Object.keys(await import('../../src/index.js')).sort();
    expect(stdout).toBe(`${names.join()}\n${manifest.version}\n`);
  });

  it('starts a service for tests, with types for a strict project', async () => {
    const page = readFileSync(path.join(root, 'docs/local-service.md'), 'utf8');
    const code = /^```ts\n([^]*?)^```$/m.exec(page)?.[1] ?? '';
    const script = path.join(folder, 'testing.mts');
    writeFileSync(script, code);
    expect(typeErrors(script)).toEqual({ status: 0, stdout: '' });
    const program = path.join(folder, 'testing.mjs');
    writeFileSync(program, `const started = performance.now();\n${code}`);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program]);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n\[\]\n$/);
  });

  /** The examples of docs/library.md, one program of them all, with the account of the test. */
  const examples = (account: { baseUrl: string; accountId: string; passcode: string }): string => {
    const page = readFileSync(path.join(root, 'docs/library.md'), 'utf8');
    const program = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code).join('');
    const credentials = `const credentials = ${JSON.stringify(account)};`;
    return program.replace(/^const credentials = \{[^}]*\};/m, credentials);
  };
  const nowhere = { baseUrl: 'https://localhost', accountId: 'A', passcode: 'p' };

  it.each([
    [
      'what is exported',
      `import { main, nodeRuntime, connect, EngagectlError, exitCodes } from 'engagectl';
       import type * as library from 'engagectl';
       const runtime: library.Runtime = nodeRuntime(new AbortController().signal);
       export const code: library.ExitCode = await main([], runtime);
       export const id: library.ErrorId = 'E-JOURNAL';
       const account: library.Account = connect(${JSON.stringify(nowhere)});
       const run: library.WriteRun = account.upload('users.csv', { type: 'event', ts: 'now' });
       const { error, exitCode }: library.WriteResult = await run.result;
       export const refused: boolean = error instanceof EngagectlError && exitCode === exitCodes.refused;
       // @ts-expect-error -- no source
       account.upload(7);
       // @ts-expect-error -- no such option
       account.subscribe([], { colour: 'red' });`,
    ],
    ['the examples', examples(nowhere)],
  ])('type-checks in a strict project: %s', (name, code) => {
    const script = path.join(folder, `${name.replaceAll(' ', '-')}.mts`);
    writeFileSync(script, code);
    expect(typeErrors(script)).toEqual({ status: 0, stdout: '' });
  });

  it('runs the documented examples', async () => {
    const account = { accountId: 'LIBRARY', passcode: 'passcode-of-the-library' };
    const service = await startService(account);
    onTestFinished(() => service.close());
    const script = path.join(folder, 'examples.mjs');
    const program = examples({ ...account, baseUrl: service.url });
    const charged = { type: 'event', evtName: 'Charged', identity: 'u1', evtData: { Amount: 7 } };
    const event = JSON.stringify({ ...charged, ts: Math.floor(Date.now() / 1000) });
    writeFileSync(path.join(folder, 'users.csv'), 'identity\nu3\nu4\n');
    // An event is there before the exports.
    const prepared = program.replace(
      '\nconst charged =',
      `\nawait account.upload([${event}]).result;\nconst charged =`,
    );
    writeFileSync(script, prepared);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], {
      cwd: folder,
    });
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^2 .*identity/),
      '{ read: 2, accepted: 1, rejected: 1, unknown: 0, exitCode: 3 }',
      '{ Amount: 7 }',
      expect.stringMatching(/^\d+$/),
      '1',
      expect.stringContaining('sms'),
      'u1 true',
      'nobody false',
      '0 of 2 users differ: all were compared',
      manifest.version,
      '0',
      '',
    ]);
    expect(existsSync(path.join(folder, 'buyers.csv.gz'))).toBe(true);
  });
});

describe('D works for calls', () => {
  const page = readFileSync(path.join(root, 'docs/calling.md'), 'utf8');
  const example = (language: string) =>
    new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? '';

  it('in a module that needs no Node API', () => {
    const text = readFileSync(path.join(installed, 'dist/calling/index.js'), 'utf8');
    expect(text.length).toBeLessThan(70_000);
    expect(text).not.toMatch(/^import\b|\bimport\(|\brequire\(|\bnode:|\bprocess\.|\bBuffer\b/m);
  });

  it('as documented for Node', async () => {
    const calls = { accountId: 'CALLS', apiKey: 'kept secret' };
    const router = await startService({ calls });
    onTestFinished(() => router.close());
    const code = example('ts').replace('http://127.0.0.1:8700', router.url);
    const script = path.join(folder, 'two-devices.mts');
    writeFileSync(script, code);
    expect(typeErrors(script)).toEqual({ status: 0, stdout: '' });
    const program = path.join(folder, 'two-devices.mjs');
    writeFileSync(program, code.replace('(cuid: string)', '(cuid)'));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program]);
    expect(stderr).toBe('');
    const heard = (cuid: string) =>
      stdout.split('\n').flatMap((line) => (line.startsWith(cuid) ? line.slice(6) : []));
    const both = ['Answered', 'CallInProgress', 'Ended'];
    expect(heard('ann_1')).toEqual(['CallIsPlaced', ...both]);
    expect(heard('bob_1')).toEqual(both);
  });

  it('as documented for React Native', () => {
    const types = path.join(folder, 'react-native.d.ts');
    writeFileSync(
      types,
      `declare module 'react-native' {
         const Platform: { readonly OS: 'ios' | 'android' | 'web' };
         const PermissionsAndroid: {
           readonly PERMISSIONS: { readonly RECORD_AUDIO: 'android.permission.RECORD_AUDIO' };
           request(permission: string): Promise<'granted' | 'denied' | 'never_ask_again'>;
         };
       }
       declare module 'react-native-webrtc' {
         const RTCPeerConnection: typeof globalThis.RTCPeerConnection;
         const mediaDevices: MediaDevices;
       }`,
    );
    const script = path.join(folder, 'react-native.mts');
    writeFileSync(
      path.join(folder, 'app.d.mts'),
      `import type { CallEventResult, IncomingCall } from 'engagectl/calling';
       export const account: { coreId: string; calling: { accountId: string; apiKey: string } };
       export const cuid: string;
       export const deviceId: string;
       export function showCall(call: IncomingCall): void;
       export function showState(result: CallEventResult): void;`,
    );
    const code = example('tsx').replace("'./app'", "'./app.mjs'");
    writeFileSync(script, `/// <reference path="./react-native.d.ts" />\n${code}`);
    expect(typeErrors(script, '--module nodenext --lib es2023,dom')).toEqual({
      status: 0,
      stdout: '',
    });
  });
});

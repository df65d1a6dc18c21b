import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, describe, expect, it } from 'vitest';
import { libraryReference } from '../support/oracles/library-reference.js';
import { packedProject, typeErrors } from '../support/packed-package.js';

// The types of the package as its users get them: packed, installed, and imported under each module resolution.

const root = fileURLToPath(new URL('../../', import.meta.url));
const { folder, installed, tarball, remove } = packedProject();
afterAll(remove);

// `import` and `export` are those of the module system that a file's extension names.
const library = `
  import { connect, EngagectlError, exitCodes, type Account, type WriteResult } from 'engagectl';
  import { startService, type TestService } from 'engagectl/testing';
  import { nodeVoice, type Sound } from 'engagectl/calling/node';
  export const account: Account = connect({ baseUrl: 'https://localhost', accountId: 'A', passcode: 'p' });
  export const result: Promise<WriteResult> = account.upload('users.csv', { type: 'event' }).result;
  export const refused = ({ error }: WriteResult) => error instanceof EngagectlError && exitCodes.refused;
  export const service: Promise<TestService> = startService({ memory: true });
  export const voice = (play: Sound) => nodeVoice({ play });
  // @ts-expect-error -- no such option
  account.subscribe([], { colour: 'red' });
  // @ts-expect-error -- not a setting of the service
  void startService({ colour: 'red' });`;
const calling = `
  import SignedCall, { CallEvent, createSignedCall, type SignedCallEnv } from 'engagectl/calling';
  export const use = (env: SignedCallEnv): SignedCall => createSignedCall(env);
  export const ended: CallEvent = CallEvent.Ended;
  // @ts-expect-error -- not an environment
  createSignedCall(7);`;

describe('the types', () => {
  it.each([
    ['a bundler', '--module esnext --moduleResolution bundler', { 'app.ts': library + calling }],
    [
      'ES modules and CommonJS in Node 16',
      '--module node16',
      { 'node16.mts': library + calling, 'node16.cts': library + calling },
    ],
    [
      'ES modules and CommonJS in current Node',
      '--module nodenext',
      { 'nodenext.mts': library + calling, 'nodenext.cts': library + calling },
    ],
  ])('are right for %s', (_, options, programs) => {
    const scripts = Object.entries(programs).map(([name, code]) => {
      writeFileSync(path.join(folder, name), code);
      return path.join(folder, name);
    });
    expect(typeErrors(scripts, options)).toEqual({ status: 0, stdout: '' });
  });

  it('are right for CommonJS in compilers that ignore exports', () => {
    const script = path.join(folder, 'node10.ts');
    writeFileSync(script, library + calling);
    const options = '--module commonjs --moduleResolution node10 --ignoreDeprecations 6.0';
    const tsc6 = path.join(root, 'node_modules/.bin/tsc6');
    expect(typeErrors(script, `${options} --types node`, tsc6)).toEqual({ status: 0, stdout: '' });
  });

  it('of calling need neither Node nor browser types', () => {
    const script = path.join(folder, 'no-platform.mts');
    writeFileSync(
      script,
      `${calling}\nimport { readWav } from 'engagectl/calling/node';\nreadWav(new Uint8Array());`,
    );
    const options = '--module esnext --moduleResolution bundler --lib es2022';
    expect(typeErrors(script, options)).toEqual({ status: 0, stdout: '' });
  });

  it('pass arethetypeswrong', () => {
    const attw = path.join(root, 'node_modules/.bin/attw');
    const args = [tarball, '--no-color', '--profile', 'strict'];
    const { status, stdout } = spawnSync(attw, args, { encoding: 'utf8' });
    expect(status, stdout).toBe(0);
  });

  it('pass publint, as does the manifest', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });
});

it('loads the same library with require and import', () => {
  const script = path.join(folder, 'both.mjs');
  writeFileSync(
    script,
    `import { createRequire } from 'node:module';
     const require = createRequire(import.meta.url);
     for (const name of ['engagectl', 'engagectl/testing', 'engagectl/calling/node']) {
       const [imported, required] = [await import(name), require(name)];
       for (const [key, value] of Object.entries(imported))
         if (required[key] !== value) console.log(name, key);
       console.log(name, Object.keys(imported).length === Object.keys(required).length);
     }`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual([
    'engagectl true\nengagectl/testing true\nengagectl/calling/node true\n',
    '',
  ]);
});

// docs/api/ is the API report: a change of it is a change of what programs rely on, and is reviewed as such. A wanted change:
// npm run build && npx vitest run test/cli/package-types.long.test.ts -u
const entryPoints = [
  ['engagectl', 'index', 'engagectl'],
  ['engagectl/testing', 'testing', 'testing'],
  ['engagectl/calling', 'calling/index', 'calling'],
  ['engagectl/calling/node', 'calling/node/index', 'calling-node'],
] as const;
const declarationsOf = (file: string) =>
  readFileSync(path.join(installed, `dist/${file}.d.ts`), 'utf8');

it.each(entryPoints)('matches the API report of %s', async (_, file, report) => {
  await expect(declarationsOf(file)).toMatchFileSnapshot(`../../docs/api/${report}.d.ts`);
});

it.each(['index', 'testing', 'calling/node/index'])(
  'gives %s the same types for import and require',
  (file) => {
    const required = readFileSync(path.join(installed, `dist/${file}.d.cts`), 'utf8');
    expect(required).toBe(declarationsOf(file));
  },
);

it('generates docs/library-reference.md from the docstrings of the API', async () => {
  const page = libraryReference(
    entryPoints.map(([name, file]) => ({ name, file, text: declarationsOf(file) })),
  );
  await expect(page).toMatchFileSnapshot('../../docs/library-reference.md');
});

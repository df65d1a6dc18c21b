import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/errors.js';
import { buildProgram } from '../../src/program.js';
import { nodeRuntime } from '../../src/runtime.js';
import { startService, type TestService } from '../../src/testing.js';
import { commandBlocks } from '../support/command-blocks.js';

// The commands of the README and of each page in docs/ run by the built bin: those of a page one after the other in a
// folder of its own, against a local service.

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = pageOf('README.md');
const account = { accountId: 'README', passcode: 'passcode-of-the-readme' };
const pages = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Commands for the checkout itself: the demo has a test of its own, the other one runs this test. */
const ofTheCheckout = ['npm ci && npm run demo', 'npm ci && npm test'];

/** What the file names of the pages stand for. */
const files: Readonly<Record<string, string | Buffer>> = {
  'users.csv': 'identity,Email,Phone,City,MSG-email\nu1,u1@example.test,+447700900001,Oslo,true\n',
  'sheet.csv': 'identity;City\nu1;Z\u00fcrich\n',
  'crm.csv': 'CustomerId,mail,Age,Signed Up,Internal\nu2,u2@example.test,41,2026-10-01,x\n',
  'events.ndjson': `${['Charged', 'Searched'].map(eventOf).join('\n')}\n`,
  'lines.ndjson':
    '{"event":"Bought","properties":{"distinct_id":"u1","time":1790841600,"amount":5}}\n',
  'body.json': '{"data":{"users":[{"identity":"u1","City":"Oslo"}]}}\n',
  'opt-outs.csv': 'type,value,status\nemail,u1@example.test,Unsubscribe\n',
  'opt-outs.csv.gz': gzipSync('type,value,status\nemail,u1@example.test,Unsubscribe\n'),
  'sms.csv': 'Name,Mobile,Choice\nAnn,0151 12345678,opted_out\n',
  'opt-outs.txt': 'u1@example.test\nu2@example.test\n',
  'leavers.txt': 'u2\n',
  'cuid.key': 'a key of more than sixteen characters\n',
  'call.key': 'key-of-the-calls\n',
  'init.json': JSON.stringify({
    accountId: 'CALLS-1',
    apiKey: 'K',
    cuid: 'ann_1',
    allowPersistSocketConnection: true,
  }),
  'passcode.txt': `${account.passcode}\n`,
  'bin/engagectl': `#!/bin/sh\nexec "${process.execPath}" "${root}bin/engagectl.js" "$@"\n`,
};

function eventOf(evtName: string): string {
  return JSON.stringify({ identity: 'u1', type: 'event', evtName, evtData: {}, ts: 1790841600 });
}

/** Its blocks need more than files: two accounts, faults, programs; see recipes.test.ts. */
const elsewhere = 'docs/recipes.md';

/** The quick suite runs those of the README. */
const tried = process.env['ENGAGECTL_LONG'] === '1' ? pages : ['README.md'];

for (const page of tried) {
  if (page === elsewhere) continue;
  const blocks = commandBlocks(pageOf(page)).filter(
    ({ script }) => !ofTheCheckout.includes(script),
  );
  if (blocks.length > 0) describe(page, () => runBlocks(blocks));
}

function runBlocks(blocks: ReturnType<typeof commandBlocks>): void {
  let folder: string;
  let service: TestService;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'engagectl-docs-'));
    mkdirSync(path.join(folder, 'bin'));
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(path.join(folder, name), content, { mode: 0o700 });
    }
    service = await startService(account);
    // The two config profiles of the recipe between accounts.
    for (const profile of ['old', 'new']) {
      const where = ['--profile', profile, '--region', 'eu1', '--base-url', service.url];
      const who = ['--account-id', account.accountId, '--passcode-file', 'passcode.txt'];
      const bin = path.join(root, 'bin/engagectl.js');
      const env = { ENGAGECTL_CONFIG_DIR: path.join(folder, 'config') };
      const args = [bin, 'config', 'set', ...where, ...who];
      await promisify(execFile)(process.execPath, args, { cwd: folder, env });
    }
    await promisify(execFile)('bash', ['-c', 'engagectl upload users.csv'], inFolder());
    // From another state folder: here it is as if they had not been sent.
    const { env, ...elsewhere } = inFolder();
    await promisify(execFile)('bash', ['-c', 'engagectl upload --type event events.ndjson'], {
      ...elsewhere,
      env: { ...env, ENGAGECTL_STATE_DIR: path.join(folder, 'other-state') },
    });
  });

  afterAll(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const inFolder = () => ({
    cwd: folder,
    env: {
      PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      ENGAGECTL_CONFIG_DIR: path.join(folder, 'config'),
      ENGAGECTL_STATE_DIR: path.join(folder, 'state'),
      ENGAGECTL_BASE_URL: service.url,
      ENGAGECTL_ACCOUNT_ID: account.accountId,
      ENGAGECTL_PASSCODE: account.passcode,
      // The addresses of the pages are nobody's: that is known at once, and not when a name server gives up.
      HTTPS_PROXY: 'http://127.0.0.1:9',
    },
  });

  for (const { line, script, exitCode } of blocks) {
    it(`line ${line}: ${script.split('\n')[0] ?? ''} …`, async () => {
      const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
        ...inFolder(),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const [stderr, [status]] = await Promise.all([text(shell.stderr), once(shell, 'close')]);
      expect(status, stderr).toBe(exitCode);
    });
  }
}

const { commands } = await buildProgram(nodeRuntime(new AbortController().signal));

describe('the README', () => {
  it.each(ofTheCheckout)('shows %s', (command) => expect(readme).toContain(command));

  it.each(commands.map((command) => command.name()).filter((name) => !name.startsWith('__')))(
    'describes %s',
    (name) => {
      expect(readme).toMatch(new RegExp(`^\\| \`${name}\\b`, 'm'));
    },
  );

  it.each(Object.entries(exitCodes))('lists the exit code of "%s", %i', (_, code) => {
    expect(readme).toMatch(new RegExp(`^\\| [\\d, ]*\\b${code}\\b[\\d, ]* \\|`, 'm'));
  });

  it.each(pages.slice(1))('links to %s', (page) => expect(readme).toContain(`(${page})`));
});

it.each(pathsIn('CONTRIBUTING.md'))('CONTRIBUTING.md names %s, which exists', (name) => {
  expect(existsSync(path.join(root, name))).toBe(true);
});

// A quoted cell has delimiters and line ends, and a JSON string has line ends: cut by lines, text inside becomes a record.
it.each([...pages, 'bench/README.md'])(
  '%s shows no command that cuts CSV or JSON by lines',
  (page) => {
    const commands = pageOf(page).replaceAll(/\|\n +/g, '| ');
    expect(commands).not.toMatch(/^.*\b(?:awk|cut|grep|sed|jq -\w*r)\b.*\| *engagectl .*$/m);
  },
);

it.each(linksOf([...pages, 'CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md']))(
  '%s: the link %s has a target',
  (page, link) => {
    const [file = '', heading] = link.split('#');
    const target = file === '' ? page : path.join(path.dirname(page), file);
    expect(existsSync(path.join(root, target))).toBe(true);
    if (heading !== undefined) expect(headingsOf(target)).toContain(heading);
  },
);

it.each(dependencies())('CONTRIBUTING.md says what %s is for', (name) => {
  expect(pageOf('CONTRIBUTING.md')).toContain(`\`${name}\``);
});

function pageOf(name: string): string {
  return readFileSync(path.join(root, name), 'utf8');
}

/** Dependencies of the package, and packages of its bundle that its own code imports. */
function dependencies(): string[] {
  type Versions = Readonly<Record<string, string>>;
  const manifest = JSON.parse(pageOf('package.json')) as {
    readonly dependencies: Versions;
    readonly devDependencies: Versions;
  };
  const bundled: readonly string[] =
    pageOf('dist/THIRD-PARTY-LICENSES').match(/^\S+(?= \d+\.\d+\.\d+$)/gm) ?? [];
  // Only tests import these; they are in the bundle because conf and cli-progress depend on them.
  const indirect = new Set(['ajv', 'string-width']);
  const isAsked = (name: string) => bundled.includes(name) && !indirect.has(name);
  const asked = Object.keys(manifest.devDependencies).filter(isAsked);
  return [...Object.keys(manifest.dependencies), ...asked];
}

function pathsIn(document: string): string[] {
  const named = pageOf(document).matchAll(
    /`((?:src|test|bin|bench|docs|wasm|fixtures|\.ci)\/[\w./-]*)`/g,
  );
  return [...new Set([...named].map((match) => match[1] ?? ''))];
}

/** Page and link, of all links to files and headings of ours. */
function linksOf(names: readonly string[]): [page: string, link: string][] {
  return names.flatMap((page) => {
    const links = [...pageOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    const own = [...new Set(links)].filter((link) => !/^[a-z]+:/.test(link));
    return own.map((link): [string, string] => [page, link]);
  });
}

/** As a forge names them: lower case, words joined by hyphens. */
function headingsOf(page: string): string[] {
  const headings = [...pageOf(page).matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? '');
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

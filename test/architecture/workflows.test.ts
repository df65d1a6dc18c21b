import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../.github/workflows/', import.meta.url));

// A tag can be moved to other code by whoever gets hold of the action's repository.
it.each(readdirSync(folder))(
  'pins the actions of %s to a commit hash and names their version',
  (name) => {
    const text = readFileSync(path.join(folder, name), 'utf8');
    const used = [...text.matchAll(/\buses: (.*)$/gm)].map(([, action = '']) => action);
    expect(used).not.toEqual([]);
    for (const action of used) expect(action).toMatch(/^[\w./-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
  },
);

describe('release.yml', () => {
  const text = readFileSync(path.join(folder, 'release.yml'), 'utf8');
  const [head = '', body = ''] = text.split(/^jobs:$/m);
  const names = [...body.matchAll(/^ {2}([\w-]+):$/gm)].map(([, name = '']) => name);
  const jobs = new Map(
    body
      .split(/^ {2}[\w-]+:$/m)
      .slice(1)
      .map((job, at) => [names[at] ?? '', job]),
  );
  const rights = (job: string) => /^ {4}permissions: \{ (.*) \}$/m.exec(job)?.[1] ?? '';

  it('gives jobs only read permission unless they declare more', () => {
    expect(head).toMatch(/^permissions: \{ contents: read \}$/m);
    expect(names).toEqual(['package', 'single-file', 'publish', 'release']);
    expect([...jobs.values()].map(rights)).toEqual([
      '',
      '',
      'contents: read, id-token: write',
      'contents: write, id-token: write, attestations: write',
    ]);
  });

  it('runs no code of the repository or its dependencies in a job that can prove its identity', () => {
    for (const [name, job] of jobs) {
      const runsCode =
        /(?:^|[^-\w/])(?:npm (?:ci|install|run|pack|test)|npx|node)\s|actions\/checkout@/m;
      expect([name, runsCode.test(job)]).toEqual([name, !rights(job).includes('write')]);
      if (/npm publish/.test(job)) expect(job).toMatch(/npm publish .*--ignore-scripts/);
    }
  });

  it('publishes after all tests, those of the single files too, and without a stored token', () => {
    expect(jobs.get('package')).toContain('run: .ci/run\n');
    expect(jobs.get('single-file')).toContain('needs: package\n');
    expect(jobs.get('single-file')).toContain('vitest run test/cli/single-file.long.test.ts');
    expect(jobs.get('publish')).toContain('needs: [package, single-file]\n');
    expect(jobs.get('release')).toContain('needs: publish\n');
    for (const name of readdirSync(folder))
      expect(readFileSync(path.join(folder, name), 'utf8')).not.toMatch(/\bsecrets\.|AUTH_TOKEN/);
  });

  it('refuses a package.json that names another repository', () => {
    expect(jobs.get('package')).toContain('= "git+$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git"');
  });

  it('attests the single files and the list of the package contents', () => {
    const release = jobs.get('release') ?? '';
    const [attested, uploaded] = ['attest-build-provenance@', 'gh release upload'].map((one) =>
      release.indexOf(one),
    );
    expect(attested).toBeGreaterThan(0);
    expect(uploaded).toBeGreaterThan(attested ?? Infinity);
    expect(release).toContain("subject-path: 'engagectl-*.tar.gz, engagectl-*.cdx.json'");
    expect(jobs.get('package')).toContain('node bin/sbom.mjs >');
  });
});

const root = new URL('../../', import.meta.url);

it('package.json names one owner in repository, bugs, homepage and author', () => {
  const { repository, bugs, homepage, author } = JSON.parse(
    readFileSync(new URL('package.json', root), 'utf8'),
  ) as {
    repository: { type: string; url: string };
    bugs: { url: string };
    homepage: string;
    author: string;
  };
  const [, web = ''] = /^git\+(https:\/\/[^/]+\/[^/]+\/engagectl)\.git$/.exec(repository.url) ?? [];
  expect(repository.type).toBe('git');
  expect(bugs.url).toBe(`${web}/issues`);
  expect(homepage).toBe(`${web}#readme`);
  expect(author).toContain(`(${path.dirname(web)})`);
});

// Likewise a tag of an image.
it('Dockerfile names its images by one digest', () => {
  const images = [...readFileSync(new URL('Dockerfile', root), 'utf8').matchAll(/^FROM (\S+)/gm)];
  expect(images).toHaveLength(2);
  expect(new Set(images.map(([, image]) => image)).size).toBe(1);
  expect(images[0]?.[1]).toMatch(/^node:24\.\d+\.\d+-bookworm-slim@sha256:[\da-f]{64}$/);
});

it.each(['**/.env*', '**/passcode*', '.git', 'node_modules'])(
  '.dockerignore excludes %s from images',
  (pattern) => {
    const lines = readFileSync(new URL('.dockerignore', root), 'utf8').split('\n');
    expect(lines).toContain(pattern);
    // Of what is let in again, nothing is copied into the last stage.
    expect(lines.filter((line) => line.startsWith('!'))).toEqual(['!test/**/passcode*']);
  },
);

it('package-lock.json has a checksum for each package', () => {
  const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8')) as {
    packages: Record<string, { readonly integrity?: string; readonly resolved?: string }>;
  };
  const installed = Object.entries(packages).filter(([name]) => name !== '');
  expect(installed.length).toBeGreaterThan(200);
  for (const [name, { integrity, resolved }] of installed)
    expect([name, integrity, resolved]).toEqual([
      name,
      expect.stringMatching(/^sha512-[\w+/]{86}==$/),
      undefined,
    ]);
});

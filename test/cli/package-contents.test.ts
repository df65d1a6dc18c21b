import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// What goes to the registry and into the list of its parts. A wanted change: run it with -u, and read the diff.

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = (program: string, args: readonly string[]) =>
  execFileSync(program, args, { cwd: root, maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'ignore'] });

const answer = run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts']).toString();
const [packed] = JSON.parse(answer) as [{ readonly files: readonly { readonly path: string }[] }];
const packedFiles = packed.files.map((file) => file.path).sort();

it('contains exactly the files of package-files.txt', async () => {
  await expect(`${packedFiles.join('\n')}\n`).toMatchFileSnapshot('package-files.txt');
  for (const file of packedFiles)
    expect(file).toMatch(
      /^(?:CHANGELOG|LICENSE|README|SECURITY|package|docs\/[\w-]+\.md$|fixtures\/recording\.svg$|calling\/(?:node\/)?package\.json$|bin\/|dist\/[\w./-]+$)/,
    );
});

/** Names of the headings of a page, as links name them. */
const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

it.each(packedFiles.filter((file) => file.endsWith('.md')))(
  'links in %s lead to files of the package, and to headings that exist',
  (file) => {
    const text = readFileSync(`${root}${file}`, 'utf8');
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    for (const link of links.filter((one) => !one.startsWith('https://'))) {
      const [name = '', anchor] = link.split('#');
      const target = name === '' ? file : path.posix.join(path.posix.dirname(file), name);
      expect(packedFiles, link).toContain(target);
      if (anchor !== undefined)
        expect(anchorsOf(readFileSync(`${root}${target}`, 'utf8')), link).toContain(anchor);
    }
  },
);

interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes?: readonly { readonly alg: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

it('lists the bundled and installed dependencies with checksums in its bill of materials', () => {
  const sbom = JSON.parse(run(process.execPath, ['bin/sbom.mjs']).toString()) as Sbom;
  expect(sbom.bomFormat).toBe('CycloneDX');
  const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    version: string;
  };
  expect(sbom.metadata.component).toMatchObject({ name: 'engagectl', version });
  const listed = sbom.components.map(({ name, version: its }) => `${name} ${its}`);
  const licences = readFileSync(`${root}dist/THIRD-PARTY-LICENSES`, 'utf8');
  const bundled = [...licences.matchAll(/^\S+ \d+\.\d+\.\d+\S*$/gm)].map(([one]) => one);
  expect(bundled.length).toBeGreaterThan(35);
  expect(listed).toEqual(expect.arrayContaining(bundled));
  const names = new Set(sbom.components.map(({ name }) => name));
  for (const name of ['libsql', '@libsql/linux-x64-gnu']) expect(names).toContain(name);
  for (const name of ['vitest', 'typescript', 'bullmq', 'pg']) expect(names).not.toContain(name);
  for (const { name, hashes } of sbom.components)
    expect([name, hashes?.[0]?.alg]).toEqual([name, 'SHA-512']);
  const ours = sbom.dependencies.find(({ ref }) => ref === `engagectl@${version}`);
  expect(ours?.dependsOn.some((one) => one.startsWith('libsql@'))).toBe(true);
});

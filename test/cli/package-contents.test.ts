import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// What goes to the registry and into the list of its parts. A wanted change: run it with -u, and read the diff.

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = (program: string, args: readonly string[]) =>
  execFileSync(program, args, { cwd: root, maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'ignore'] });

it('contains exactly the files of package-files.txt', async () => {
  const answer = run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts']).toString();
  const [packed] = JSON.parse(answer) as [{ readonly files: readonly { readonly path: string }[] }];
  const files = packed.files.map(({ path }) => path).sort();
  await expect(`${files.join('\n')}\n`).toMatchFileSnapshot('package-files.txt');
  for (const file of files)
    expect(file).toMatch(
      /^(?:CHANGELOG|LICENSE|README|package|calling\/(?:node\/)?package\.json$|bin\/|dist\/[\w./-]+$)/,
    );
});

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
  const bundled = [...licences.matchAll(/^-{80}\n(\S+ \S+)$/gm)].map(([, one = '']) => one);
  expect(bundled.length).toBeGreaterThan(50);
  expect(listed).toEqual(expect.arrayContaining(bundled));
  const names = new Set(sbom.components.map(({ name }) => name));
  for (const name of ['libsql', '@libsql/linux-x64-gnu']) expect(names).toContain(name);
  for (const name of ['vitest', 'typescript', 'bullmq', 'pg']) expect(names).not.toContain(name);
  for (const { name, hashes } of sbom.components)
    expect([name, hashes?.[0]?.alg]).toEqual([name, 'SHA-512']);
  const ours = sbom.dependencies.find(({ ref }) => ref === `engagectl@${version}`);
  expect(ours?.dependsOn.some((one) => one.startsWith('libsql@'))).toBe(true);
});

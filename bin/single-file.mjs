// Makes one file of the build and of the Node that runs this, for Linux: `npm run build && node bin/single-file.mjs engagectl`.
// A "single executable application" of Node; bin/single-file-main.cjs unpacks its contents.
// The postject that puts it in knows Linux's format; on macOS and Windows the file would have to be signed again.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const [output = 'engagectl'] = process.argv.slice(2);

/** Marker after which Node looks for the contents that postject inserts. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** By the names under which they are laid out; of libsql the part for this platform. */
function carriedFiles() {
  const require = createRequire(import.meta.url);
  const { arch, report } = process;
  const kind = report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl';
  const native = `node_modules/@libsql/linux-${arch}-${kind}`;
  const programs = readdirSync(join(root, 'dist')).filter((name) => /\.(?:cjs|wasm)$/.test(name));
  return [
    ...['engagectl.js', 'package.json'].map((name) => `bin/${name}`),
    ...[...programs, 'THIRD-PARTY-LICENSES'].map((name) => `dist/${name}`),
    'package.json',
    'LICENSE',
    ...['package.json', 'index.js'].map((name) => `node_modules/libsql/${name}`),
    ...['package.json', require(join(root, native, 'package.json')).main].map(
      (name) => `${native}/${name}`,
    ),
  ];
}

/** Bytes of each, and what tells one build from another. */
function listOf(files) {
  const digest = createHash('sha256');
  const sizes = files.map((name) => {
    const bytes = readFileSync(join(root, name));
    digest.update(`${name}\0${bytes.length}\0`).update(bytes);
    return [name, bytes.length];
  });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return { name: `${version}-${digest.digest('hex').slice(0, 16)}`, sizes };
}

function makeFile() {
  if (process.platform !== 'linux') throw new Error('a single file is made on Linux only');
  const work = mkdtempSync(join(tmpdir(), 'engagectl-single-'));
  try {
    const files = carriedFiles();
    const [list, settings, blob] = ['list.json', 'settings.json', 'blob'].map((name) =>
      join(work, name),
    );
    writeFileSync(list, JSON.stringify(listOf(files)));
    const assets = Object.fromEntries(files.map((name) => [name, join(root, name)]));
    const main = join(root, 'bin/single-file-main.cjs');
    const how = { disableExperimentalSEAWarning: true, assets: { ...assets, list } };
    writeFileSync(settings, JSON.stringify({ main, output: blob, ...how }));
    execFileSync(process.execPath, ['--experimental-sea-config', settings]);
    copyFileSync(process.execPath, output);
    chmodSync(output, 0o755);
    const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js');
    const words = [resolve(output), 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse];
    // It warns about unknown sections of the file; a test runs the result.
    execFileSync(process.execPath, [postject, ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
    execFileSync(resolve(output), ['--version'], { env: { XDG_CACHE_HOME: work } });
  } catch (error) {
    rmSync(output, { force: true });
    throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

makeFile();

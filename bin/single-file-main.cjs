// The first thing that runs in the single file: lays out what the file carries, once for each build, and runs that.
// Native code can be loaded from the disk only. The folder is the user's own, as that of Node's compile cache
// is; where there is none, a temporary one serves this process alone.
const { createRequire } = require('node:module');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { getRawAsset } = require('node:sea');

const { name: build, sizes } = JSON.parse(Buffer.from(getRawAsset('list')).toString());

function programFolder() {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && path.join(HOME, '.cache'));
  try {
    if (!caches || !path.isAbsolute(caches)) return temporaryFolder();
    const ours = path.join(caches, 'engagectl');
    makeFolder(caches);
    makeFolder(ours);
    const folder = path.join(ours, build);
    if (!isMine(caches) || !isMine(ours)) return temporaryFolder();
    if (isWhole(folder)) return folder;
    const beside = fs.mkdtempSync(`${folder}.`);
    layOut(beside);
    try {
      if (!isWhole(folder)) fs.rmSync(folder, { recursive: true, force: true });
      fs.renameSync(beside, folder);
    } catch {
      fs.rmSync(beside, { recursive: true, force: true });
      if (!isWhole(folder)) return temporaryFolder(); // else another process was quicker
    }
    return folder;
  } catch {
    return temporaryFolder();
  }
}

/** Node's own `recursive` never returns where a parent cannot hold a folder, as under /proc. */
function makeFolder(folder) {
  if (!fs.existsSync(folder)) fs.mkdirSync(folder, { mode: 0o700 });
}

/** What lies there is run: nobody else may have put it there. */
function isMine(folder) {
  const { uid, mode } = fs.lstatSync(folder);
  return uid === process.getuid() && (mode & 0o022) === 0;
}

function isWhole(folder) {
  if (!fs.existsSync(folder) || !isMine(folder)) return false;
  return sizes.every(
    ([name, size]) =>
      fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.size === size,
  );
}

function layOut(folder) {
  for (const [name] of sizes) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, new Uint8Array(getRawAsset(name)));
  }
}

function temporaryFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'engagectl-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  layOut(folder);
  return folder;
}

try {
  const program = path.join(programFolder(), 'bin/engagectl.js');
  createRequire(program)(program);
} catch (error) {
  if (error.syscall === undefined) throw error;
  process.stderr.write(
    `engagectl cannot lay out its parts: ${error.message}\nMake room in the folder for temporary files, or name another in TMPDIR\n`,
  );
  process.exitCode = 9;
}

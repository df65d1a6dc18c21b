#!/usr/bin/env node
// Nothing here is newer than `import()`, so that an old Node gets a line and not a SyntaxError. It is
// CommonJS, as all of the bundle that is published: without ES modules Node starts 4 ms sooner.
const words = process.argv.slice(2);
const isAsking = words.some((word) => /^(?:--help|-h|--version|help)$/.test(word));
/** Modules of Node that a write or an export loads. */
const builtins = [
  'assert',
  'crypto',
  'diagnostics_channel',
  'fs/promises',
  'module',
  'net',
  'os',
  'perf_hooks',
  'stream/promises',
  'timers/promises',
  'zlib',
];
const [major = 0, minor = 0, patch = 0] = process.versions.node.split('.').map(Number);
if (major * 1e6 + minor * 1e3 + patch < 20018001) {
  refuse(`engagectl needs Node.js 20.18.1 or newer; this is ${process.versions.node}`);
} else if (!isAsking && !mayOpenFiles(100)) {
  refuse('engagectl may open too few files here: ulimit -n 256');
} else {
  const path = require('node:path');
  const { existsSync, readFileSync } = require('node:fs');
  // Our WebAssembly is compiled under V8's own flags, which optimize it where it is hot. V8 gives the same module to who compiles
  // the same code later on, as long as this one is alive.
  const textFile = path.join(__dirname, '../dist/text.wasm');
  const isExport = words.some((word) => word.startsWith('export-'));
  const isData = isExport || words.some((word) => /^(?:upload|subscribe|demerge|cuid)$/.test(word));
  if (isData && !isAsking && existsSync(textFile)) {
    const text = new WebAssembly.Module(readFileSync(textFile));
    process.on('exit', () => text);
  }
  // Then flags are set, once. To optimize undici's parser of HTTP, one huge function in WebAssembly, takes 100 ms and 30 MB:
  // it stays as it is compiled first. What is created lives as long as a request: a larger nursery only takes memory, except to
  // the service, which reads whole requests. Before Node 22, V8 optimizes functions early, for a quarter of an upload's CPU. What
  // an export receives lies outside of the heap, which V8 counts as if it were in it. A Node newer than those tried would complain
  // of flags that it does not know.
  if (major <= 24 && !isAsking) {
    const { setFlagsFromString } = require('node:v8');
    // Under other flags V8 refuses what Node has compiled of its own modules, and compiles them again: 14 ms of an upload.
    if (isData) for (const name of builtins) require(`node:${name}`);
    const flags = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];
    if (!words.includes('serve')) flags.push('--semi-space-growth-factor=1');
    if (major < 22) flags.push('--interrupt-budget=270336');
    flags.push(`--heap-growing-percent=${isExport ? 500 : 50}`);
    for (const flag of flags) setFlagsFromString(flag);
  }
  // Newer Nodes keep what V8 compiled. It is code: it lies in a folder that nobody else can write to.
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && path.join(HOME, '.cache')) || LOCALAPPDATA;
  const cache = caches && path.join(caches, 'engagectl');
  if (major >= 22 && cache && isMine(caches) && (!existsSync(cache) || isMine(cache))) {
    require('node:module').enableCompileCache?.(cache);
  }

  const bundle = path.join(__dirname, '../dist/process.cjs');
  if (existsSync(bundle)) {
    void require(bundle).runProcess();
  } else {
    refuse('engagectl is not built: run npm ci && npm run build in its folder');
  }
}

/** Prints the error itself: the modules that print errors are not loaded yet. */
function refuse(message) {
  const asJson = /(?:^| )(?:--json|--log-format[= ]json)(?: |$)/.test(words.join(' '));
  const error = { id: 'E-USAGE', message, exitCode: 2 };
  process.stderr.write(`${asJson ? JSON.stringify({ error, type: 'error' }) : message}\n`);
  process.exitCode = 2;
}

/** Whether the path is absolute, and a folder of the user or root that nobody else can write to. */
function isMine(folder) {
  const { existsSync, statSync } = require('node:fs');
  if (!require('node:path').isAbsolute(folder) || !existsSync(folder)) return false;
  const { uid, mode } = statSync(folder);
  const own = process.getuid?.();
  return own === undefined || ([0, own].includes(uid) && (mode & 0o022) === 0);
}

/** With too few of them anything may fail, the loading of this program and native libraries too. */
function mayOpenFiles(count) {
  const { openSync, closeSync } = require('node:fs');
  const files = [];
  try {
    while (files.length < count) files.push(openSync(__filename));
    return true;
  } catch {
    return false;
  } finally {
    for (const file of files) closeSync(file);
  }
}

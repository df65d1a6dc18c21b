#!/usr/bin/env node
// Nothing here is newer than `import()`, so that an old Node gets a line and not a SyntaxError. It is
// CommonJS, as all of the bundle that is published: without ES modules Node starts 4 ms sooner.
const [major = 0, minor = 0, patch = 0] = process.versions.node.split('.').map(Number);
if (major * 1e6 + minor * 1e3 + patch < 20018001) {
  process.stderr.write(
    `engagectl needs Node.js 20.18.1 or newer; this is ${process.versions.node}\n`,
  );
  process.exitCode = 2;
} else {
  const { existsSync, readFileSync } = require('node:fs');
  const path = require('node:path');
  const folder = path.join(__dirname, '../dist');
  const digestFile = path.join(folder, 'bundle-digest'); // there in the bundle only
  if (existsSync(digestFile)) {
    const { bundleLoader } = require('../dist/bundle-loader.cjs');
    const digest = readFileSync(digestFile, 'utf8');
    const { load, keep } = bundleLoader({ folder, digest, require });
    void load('./process.cjs').runProcess(keep);
  } else {
    void import('../dist/process.js').then(({ runProcess }) => runProcess());
  }
}

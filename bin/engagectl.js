#!/usr/bin/env node
/* global process */
// Nothing here is newer than ES modules, so that an old Node gets a line and not a SyntaxError.
const [major, minor, patch] = process.versions.node.split('.').map(Number);
if (major * 1e6 + minor * 1e3 + patch < 20018001) {
  process.stderr.write(
    `engagectl needs Node.js 20.18.1 or newer; this is ${process.versions.node}\n`,
  );
  process.exitCode = 2;
} else {
  void import('../dist/process.js').then(({ runProcess }) => runProcess());
}

#!/usr/bin/env node
// Plain ES5-era syntax up to the version check, so that an old Node gets a line and not a SyntaxError.
import process from 'node:process';

const [major, minor, patch] = process.versions.node.split('.').map(Number);
if (major * 1e6 + minor * 1e3 + patch < 20018001) {
  process.stderr.write(
    `engagectl needs Node.js 20.18.1 or newer; this is ${process.versions.node}\n`,
  );
  process.exitCode = 2;
} else {
  const { runProcess } = await import('../dist/process.js');
  await runProcess();
}

import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ShardFolder } from '../../src/fleet/shard-folder.js';
import { makeWorld } from '../support/test-environment.js';

it('takes over from an owner that ends its run, and removes a file, while the folder is copied', async () => {
  const shard = new ShardFolder(makeWorld().path('shard'));
  shard.create();
  const { path: first } = await shard.takeOver({ worker: 'first' });
  for (const name of ['journal.ndjson', 'journal.ndjson.reserve'])
    writeFileSync(path.join(first, name), name);

  const { copyFile } = fs;
  fs.copyFile = (...args) => {
    rmSync(path.join(first, 'journal.ndjson.reserve'), { force: true });
    return copyFile(...args);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.copyFile = copyFile;
    syncBuiltinESMExports();
  });
  const second = await shard.takeOver({ worker: 'second' });
  expect(readdirSync(second.path).toSorted()).toEqual(['journal.ndjson', 'owner.json']);
});

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { expect, it } from 'vitest';
import { resolveTarget } from '../../src/output/partial-file.js';
import { openStream } from '../../src/output/sink.js';
import { makeWorld } from '../support/test-environment.js';

// Whoever may write to the folder of a named pipe could give its name to something else while nobody reads it.

it.each(['a file', 'a link', 'a pipe'])(
  'opens %s that got the name of a named pipe not for writing',
  async (what) => {
    const world = makeWorld();
    const [pipe, other] = [world.path('pipe'), world.path('other')];
    execFileSync('mkfifo', [pipe]);
    if (what === 'a pipe') execFileSync('mkfifo', [other]);
    else writeFileSync(other, 'mine');
    const option = (name: string) => `--${name}`;
    const { uid } = world.runtime();
    const target = await resolveTarget('pipe', { cwd: world.cwd, uid, option });
    if (target.kind !== 'stream') throw new Error('the target is a pipe');
    const reader = openSync(other, constants.O_RDONLY | constants.O_NONBLOCK);
    const sleep = async () => {
      rmSync(pipe);
      if (what === 'a link') symlinkSync(other, pipe);
      else renameSync(other, pipe);
    };
    const { signal } = new AbortController();
    const opening = openStream(target, { sleep, signal, isJson: false });
    await expect(opening).rejects.toMatchObject({
      id: 'E-FILE-WRITE',
      details: { why: 'another file has its name now' },
    });
    if (what !== 'a pipe') expect(readFileSync(reader, 'utf8')).toBe('mine');
    closeSync(reader);
  },
);

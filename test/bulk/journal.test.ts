import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Journal } from '../../src/bulk/run/journal.js';
import { makeWorld } from '../support/world.js';

type Entry = { readonly n: number; readonly text: string };
const entry = (n: number): Entry => ({ n, text: `Zürich "${n}" 🏔\n` });

async function written(world: ReturnType<typeof makeWorld>): Promise<string> {
  const path = world.path('journal');
  const { journal: file } = Journal.open<Entry>(path);
  await file.append(entry(1));
  await file.append(entry(2), entry(3));
  await file.append(entry(4), entry(5));
  file.close();
  return path;
}

async function reopened(path: string): Promise<readonly Entry[]> {
  const { journal: file, entries } = Journal.open<Entry>(path);
  await file.append(entry(9));
  file.close();
  return entries;
}

describe('Journal', () => {
  it('keeps what was appended, wherever the last append was cut, and goes on behind it', async () => {
    const world = makeWorld();
    const whole = readFileSync(await written(world));
    const last = whole.lastIndexOf('\n', whole.length - 2) + 1;
    for (let length = last; length < whole.length; length += 1) {
      const path = world.path(`cut-${length}`);
      writeFileSync(path, whole.subarray(0, length));
      expect(await reopened(path)).toEqual([1, 2, 3].map(entry));
      expect(await reopened(path)).toEqual([1, 2, 3, 9].map(entry));
    }
  });

  it('drops a last line that lost its content but not its newline', async () => {
    const path = await written(makeWorld());
    const bytes = readFileSync(path);
    bytes.fill(0, bytes.lastIndexOf('\n', bytes.length - 2) + 1, bytes.length - 1);
    writeFileSync(path, bytes);
    expect(await reopened(path)).toEqual([1, 2, 3].map(entry));
  });

  it('refuses damage before the last line: E-JOURNAL with the line', async () => {
    const path = await written(makeWorld());
    const bytes = readFileSync(path);
    bytes[bytes.indexOf('\n') + 20]! ^= 1;
    writeFileSync(path, bytes);
    expect(() => Journal.open(path)).toThrow(
      expect.objectContaining({ id: 'E-JOURNAL', details: expect.objectContaining({ line: 2 }) }),
    );
  });
});

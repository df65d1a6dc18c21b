import { existsSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { unnamedOption } from '../../src/errors.js';
import type { RecordPage } from '../../src/output/output.js';
import { SpillFile } from '../../src/output/spill-file.js';
import { makeWorld } from '../support/test-environment.js';

// Pages of an export that wait in a file for their turn.

const pageOf = (texts: readonly string[]): RecordPage => {
  const bounds: number[] = [];
  let at = 0;
  for (const text of texts) {
    bounds.push(at, at + Buffer.byteLength(text));
    at += Buffer.byteLength(text) + 1;
  }
  const bytes = Buffer.from(texts.map((text) => `${text},`).join(''));
  return { bytes, bounds: Int32Array.from(bounds), count: texts.length };
};

async function textsIn(spill: SpillFile): Promise<string[]> {
  const texts: string[] = [];
  for await (const { bytes, bounds, count } of spill.pages()) {
    for (let index = 0; index < count; index += 1) {
      texts.push(bytes.toString('utf8', bounds[2 * index], bounds[2 * index + 1]));
    }
  }
  return texts;
}

/** Records of which some are longer than what is read at once, 1 MiB. */
const long = ['a', 'x'.repeat(700_000), 'y'.repeat(700_000), 'z'.repeat(5_000_000), 'b', 'ü'];

it('returns every record in order, however long', async () => {
  const world = makeWorld();
  const spill = await SpillFile.open(world.path('spill'), undefined, { option: unnamedOption });
  expect(spill.checkpoint()).toMatchObject({ bytes: 0, records: 0 });
  for (const text of long) await spill.writePage(pageOf([text]));
  await spill.writePage(pageOf(['c', 'd']));
  expect(spill.checkpoint().records).toBe(8);
  const found = await textsIn(spill);
  expect(found.map((text) => text.length)).toEqual([...long, 'c', 'd'].map(({ length }) => length));
  expect(found.join('') === [...long, 'c', 'd'].join('')).toBe(true);
  expect(statSync(world.path('spill')).mode & 0o777).toBe(0o600);
  expect(await spill.discard()).toBe(undefined);
  expect(existsSync(world.path('spill'))).toBe(false);
});

it('is truncated to a checkpoint, and continues from there', async () => {
  const world = makeWorld();
  const spill = await SpillFile.open(world.path('spill'), undefined, { option: unnamedOption });
  await spill.writePage(pageOf(['a', 'b']));
  const place = spill.checkpoint();
  await spill.writePage(pageOf(['lost', 'lost, too']));
  await spill.rewind(place);
  expect([spill.checkpoint(), statSync(world.path('spill')).size]).toEqual([place, place.bytes]);
  await spill.writePage(pageOf(['c']));
  expect([await textsIn(spill), spill.checkpoint().records]).toEqual([['a', 'b', 'c'], 3]);
  await spill.close();
});

it('is kept for another process if it is not empty, and continues after the checkpoint', async () => {
  const world = makeWorld();
  const path = world.path('spill');
  const first = await SpillFile.open(path, undefined, { option: unnamedOption });
  await first.writePage(pageOf(['a']));
  const place = first.checkpoint();
  await first.writePage(pageOf(['not committed']));
  await first.close();
  const second = await SpillFile.open(path, place, { option: unnamedOption });
  expect([await textsIn(second), second.checkpoint()]).toEqual([['a'], place]);
  await second.rewind({ bytes: 0, crc: 0, records: 0 });
  await second.close();
  expect(existsSync(path)).toBe(false);
});

it('without a name keeps its pages until its process ends', async () => {
  const world = makeWorld();
  const spill = await SpillFile.openNameless(world.path('spill'), unnamedOption);
  expect(existsSync(world.path('spill'))).toBe(false);
  await spill.writePage(pageOf(['a', 'b']));
  expect(await textsIn(spill)).toEqual(['a', 'b']);
  expect(await spill.discard()).toBe(undefined);
});

import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { openInputs } from '../../src/input/inputs.js';
import { uploadMapper } from '../../src/mapping/upload-mapper.js';
import { recordTexts } from '../support/builders/row-blocks.js';
import { uploadDefaults } from '../support/builders/upload-mapping.js';

// A block is written from where it was cut, unless something else came there meanwhile.

const { signal } = new AbortController();
const mapper = () =>
  uploadMapper({ ...uploadDefaults, identity: 'id', types: new Map([['n', 'integer']]) });

const names = ['a', 'b'] as const;
const rowsPerInput = 20_000;
const recordOf = (name: string, n: number) =>
  `{"identity":"${name}${n}","type":"profile","profileData":{"text":"say \\"${n}\\"","n":${n}}}`;
const expected = (name: string) =>
  Array.from({ length: rowsPerInput }, (_, n) => recordOf(name, n));

async function blocksOf(name: string) {
  const lines = Array.from({ length: rowsPerInput }, (_, n) => `${name}${n},"say ""${n}""",${n}\n`);
  const stdin = Readable.from([Buffer.from(`id,text,n\n${lines.join('')}`)]);
  const options = { files: [], format: 'csv', maxRecordBytes: 1024 * 1024 } as const;
  return (await openInputs(options, { stdin, cwd: '/', signal })).blocks();
}

it('writes blocks that were all split before the first one is written', async () => {
  const blocks = [];
  for await (const block of await blocksOf('a')) blocks.push(block);
  expect(blocks.length).toBeGreaterThan(1);
  const mapped = mapper();
  const texts = blocks.flatMap((block) => recordTexts(mapped.map(block)));
  expect(texts).toEqual(expected('a'));
});

it('writes blocks of two inputs alternately, each with its own mapper', async () => {
  const runs = await Promise.all(
    names.map(async (name) => ({ blocks: await blocksOf(name), mapper: mapper(), texts: [''] })),
  );
  for (let left = runs.length; left > 0;) {
    left = 0;
    const mapped = [];
    for (const { blocks, mapper, texts } of runs) {
      const { value } = await blocks.next();
      if (value) mapped.push({ block: mapper.map(value), texts });
    }
    // what the one wrote is still there when the other has written
    for (const { block, texts } of mapped) texts.push(...recordTexts(block));
    left = mapped.length;
  }
  for (const [index, name] of names.entries()) {
    expect(runs[index]!.texts.slice(1)).toEqual(expected(name));
  }
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countIdentities, tooManyIdentities } from '../../../src/bulk/write/deduplication.js';
import { IdentitySet } from '../../../src/bulk/write/deduplication.js';
import { SipHash } from '../../../src/bulk/write/deduplication.js';
import { writeRecords } from '../../../src/bulk/write/write-pipeline.js';
import { recordBlock, writeJobOf } from '../../support/builders/record-blocks.js';

const emptySet = (): ((identity: string) => boolean) & { readonly set: IdentitySet } => {
  const set = new IdentitySet(() => 0.5);
  const add = (identity: string) => {
    const bytes = Buffer.from(`, "${identity}"`);
    return set.add(bytes, 2, bytes.length);
  };
  return Object.assign(add, { set });
};

it('distinguishes new identities like a Set, in every pass', () => {
  const identity = fc.oneof(fc.string(), fc.constantFrom('', 'a', 'á', 'a\u0301'));
  const pass = fc.array(identity, { maxLength: 100 });
  fc.assert(
    fc.property(fc.array(pass, { minLength: 1, maxLength: 3 }), (passes) => {
      const add = emptySet();
      for (const [index, identities] of passes.entries()) {
        if (index > 0) add.set.clear();
        const oracle = new Set<string>();
        for (const each of identities) {
          expect(add(each)).toBe(!oracle.has(each));
          oracle.add(each);
          expect(add.set.size).toBe(oracle.size);
        }
      }
    }),
    { numRuns: 30 },
  );
});

it('counts the identities of a demerge, and returns the first five', async () => {
  const block = recordBlock(
    ['a', 'b', 'a', 'c', 'd', 'e', 'e', 'f'].map((id) => ({ text: `"${id}"` })),
  );
  const rowsOf = async function* () {
    yield block.rows;
  };
  const found = await countIdentities(rowsOf(), () => block, new IdentitySet(() => 0.5, 100));
  expect(found).toEqual({ count: 6, first: ['a', 'b', 'c', 'd', 'e'] });
});

it('distinguishes 200,000 identities', () => {
  const add = emptySet();
  for (let n = 0; n < 200_000; n += 1) if (!add(`user-${n}`)) expect.fail(`user-${n} is new`);
  for (let n = 0; n < 200_000; n += 1) if (add(`user-${n}`)) expect.fail(`user-${n} is known`);
  expect(add.set.size).toBe(200_000);
});

// Vectors of the reference implementation: key 00…07, text 00 01 02 … of so many bytes.
it.each([
  [0, '218d1f59b9b83cc8'],
  [1, 'be552412f8387315'],
  [3, 'ce0f1a45f7060679'],
  [4, 'd5e78a175be52ea1'],
  [9, '5b51cccc13888307'],
])('hashes %i bytes like the reference implementation of HalfSipHash-2-4', (length, tag) => {
  const hash = new SipHash([0x0302_0100, 0x0706_0504]);
  const text = Uint8Array.from({ length: length + 2 }, (_, at) => at - 1);
  hash.hash(text, 1, length + 1);
  const [first = 0, second = 0] = hash.words;
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(first, 0);
  bytes.writeUInt32LE(second, 4);
  expect(bytes.toString('hex')).toBe(tag);
});

describe('D deduplication of a demerge', () => {
  const most = 1000;
  const identities = (count: number) =>
    recordBlock(Array.from({ length: count }, (_, n) => ({ text: `"user-${n}"` })));

  it('is limited to five million identities', () => {
    const set = new IdentitySet(() => 0.5);
    expect(set.maximum).toBe(5_000_000);
    const [enough, more] = [set.maximum, set.maximum + 1].map((size) =>
      tooManyIdentities({ maximum: set.maximum, size }),
    );
    expect(enough).toBe(undefined);
    expect(more).toMatchObject({
      id: 'E-TOO-MANY',
      exitCode: 8,
      message: 'more than 5,000,000 identities in one run',
    });
  });

  const survey = async (count: number) => {
    const { rows } = identities(count);
    const rowsOf = async function* () {
      yield rows;
      yield rows;
    };
    return countIdentities(rowsOf(), () => identities(count), new IdentitySet(() => 0.5, most));
  };

  it('refuses too many identities while counting; repeated ones do not count', async () => {
    expect((await survey(most)).count).toBe(most);
    await expect(survey(most + 1)).rejects.toMatchObject({ id: 'E-TOO-MANY' });
  });

  it.each([
    [most, undefined],
    [most + 1, 'E-TOO-MANY'],
  ])('stops a run of too many identities: %i', async (count, id) => {
    const block = identities(count);
    const job = writeJobOf([block, block], {
      records: 5000,
      identities: new IdentitySet(() => 0.5, most),
      send: undefined,
    });
    const { done, stopped } = await writeRecords(job);
    expect([done, stopped?.id]).toEqual([id === undefined, id]);
    const { read, duplicates, notSent } = job.tally.counts;
    expect([read, duplicates + notSent]).toEqual([2 * count, 2 * count]);
  });
});

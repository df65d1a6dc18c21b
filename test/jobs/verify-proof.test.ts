import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../support/property-runs.js';
import { KeySample } from '../../src/jobs/verify/sent-input.js';
import { upperBound, roundUpPercent, proofText } from '../../src/jobs/verify/verify.js';
import { keyHash, keySeeds } from '../../src/mapping/identity.js';

describe('what a sample proves', () => {
  // Values of the one-sided bound, from tables of the beta distribution.
  it.each([
    [0, 300, 0.009936],
    [0, 10, 0.258866],
    [0, 1, 0.95],
    [1, 10, 0.394163],
    [5, 100, 0.102254],
    [10, 10, 1],
  ])('%d of %d: at most %f of all', (differing, checked, most) => {
    expect(upperBound({ differing, checked })).toBeCloseTo(most, 5);
  });

  it('agrees with the rule of three, slightly on the safe side', () => {
    for (const checked of [100, 300, 1000, 100_000]) {
      const most = upperBound({ differing: 0, checked });
      expect(most).toBeLessThan(3 / checked);
      expect(most).toBeGreaterThan(2.95 / checked);
    }
  });

  it.each([5, 40, 300])('holds 95 times of 100, for any share: of %d', (n) => {
    const most = Array.from({ length: n + 1 }, (_, d) => upperBound({ differing: d, checked: n }));
    for (let p = 0.002; p < 1; p += 0.0137) {
      let [term, sure] = [(1 - p) ** n, 0];
      for (let d = 0; d <= n; d += 1) {
        if (most[d]! >= p) sure += term;
        term *= ((n - d) / (d + 1)) * (p / (1 - p));
      }
      if ((1 - p) ** n > 1e-300) expect(sure, `share ${p}`).toBeGreaterThanOrEqual(0.95 - 1e-9);
    }
  });

  it('is never rounded down', () => {
    expect(roundUpPercent(0.009936)).toBe('1 %');
    expect(roundUpPercent(0.01)).toBe('1 %');
    expect(roundUpPercent(0.010001)).toBe('1.1 %');
    expect(roundUpPercent(0.102254)).toBe('11 %');
    expect(roundUpPercent(0.0000301)).toBe('0.0031 %');
    expect(roundUpPercent(0.9991)).toBe('100 %');
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1, noNaN: true }), (share) => {
        const said = Number.parseFloat(roundUpPercent(share));
        expect(said).toBeGreaterThanOrEqual(100 * share * (1 - 1e-9));
        expect(said).toBeLessThanOrEqual(100 * share * 1.11);
      }),
    );
  });

  it.each([
    [0, 300, false, '0 of 300 users differ: with 95 % confidence, fewer than 1 % of all differ'],
    [7, 300, false, '7 of 300 users differ: with 95 % confidence, fewer than 4.4 % of all differ'],
    [3, 3, false, '3 of 3 users differ: this proves nothing about the others'],
    [0, 1200, true, '0 of 1,200 users differ: all were compared'],
    [1, 1, true, '1 of 1 user differs: all were compared'],
  ])(
    'words the result of %d differing of %d compared; all were compared: %s',
    (differing, checked, isWhole, sentence) => {
      expect(proofText({ what: 'users', differing, checked, isWhole })).toBe(sentence);
    },
  );
});

describe('the sample', () => {
  const hashOf = (key: string) =>
    keyHash(Buffer.from(key), 0, Buffer.byteLength(key), keySeeds.identity);

  const sampleOf = (keys: readonly string[], size: number, seed: number) => {
    const sample = new KeySample<{ key: string; seen: number[] }>({ size, seed });
    for (const [at, key] of keys.entries()) {
      const hash = hashOf(key);
      if (!sample.wants(hash)) continue;
      sample.of(key, hash, () => ({ key, seen: [] })).seen.push(at);
    }
    return sample;
  };

  it('contains all records of each of its keys', () => {
    const keys = fc.array(fc.integer({ min: 0, max: 60 }).map(String), { maxLength: 400 });
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 20 }), fc.nat(), (all, size, seed) => {
        const sample = sampleOf(all, size, seed);
        const distinct = new Set(all).size;
        const values = sample.values();
        expect(values).toHaveLength(Math.min(size, distinct));
        expect(sample.isWhole).toBe(distinct <= size);
        for (const { key, seen } of values) {
          expect(seen).toEqual(all.flatMap((one, at) => (one === key ? [at] : [])));
        }
      }),
    );
  });

  it('is the same with the same seed, in whatever order the keys come', () => {
    const keys = Array.from({ length: 2000 }, (_, at) => `user-${at}`);
    const names = (of: readonly string[], seed: number) =>
      sampleOf(of, 50, seed)
        .values()
        .map(({ key }) => key);
    expect(names(keys, 7)).toEqual(names(keys.toReversed(), 7));
    expect(names(keys, 7)).not.toEqual(names(keys, 8));
  });

  it('prefers no part of the input and no frequent key', () => {
    const keys = Array.from({ length: 10_000 }, (_, at) => `CUST-${String(at).padStart(7, '0')}`);
    const often = [...keys, ...Array.from({ length: 20_000 }, () => keys[42]!)];
    const tenths = Array.from({ length: 10 }, () => 0);
    const seeds = runs(200);
    let chosen = 0;
    for (let seed = 1; seed <= seeds; seed += 1) {
      for (const { key } of sampleOf(often, 100, Math.imul(seed, 0x9e37_79b9) >>> 0).values()) {
        tenths[Math.floor(Number(key.slice(5)) / 1000)]! += 1;
        if (key === keys[42]) chosen += 1;
      }
    }
    // With 200 seeds, 2000 keys are expected from each tenth (standard deviation 42), and the frequent key twice.
    const deviation = Math.sqrt(9 * seeds);
    for (const count of tenths) expect(Math.abs(count - 10 * seeds)).toBeLessThan(5 * deviation);
    expect(chosen).toBeLessThan(12);
  });
});

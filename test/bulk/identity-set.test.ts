import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { IdentitySet } from '../../src/bulk/write/identity-set.js';

it('tells like a Set which identities are new', () => {
  const identity = fc.oneof(fc.string(), fc.constantFrom('', 'a', 'á', 'a\u0301'));
  fc.assert(
    fc.property(fc.array(identity, { maxLength: 300 }), (identities) => {
      const set = new IdentitySet();
      const oracle = new Set<string>();
      for (const each of identities) {
        expect(set.add(each)).toBe(!oracle.has(each));
        oracle.add(each);
        expect(set.size).toBe(oracle.size);
      }
    }),
  );
});

it('grows', () => {
  const set = new IdentitySet();
  for (let n = 0; n < 100_000; n += 1) if (!set.add(`user-${n}`)) expect.fail(`user-${n} is new`);
  for (let n = 0; n < 100_000; n += 1) if (set.add(`user-${n}`)) expect.fail(`user-${n} is known`);
  expect(set.size).toBe(100_000);
});

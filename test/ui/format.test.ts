import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { grouped } from '../../src/ui/format.js';

it('groups the digits of a whole number as English does', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.nat({ max: 16 }), (number, digits) => {
      const value = Math.floor(number / 10 ** digits);
      expect(grouped(value)).toBe(value.toLocaleString('en-US'));
    }),
  );
});

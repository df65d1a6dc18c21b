import { expect, it } from 'vitest';
import { readWav, resample, writeWav } from '../../src/calling/node/wav.js';

const samples = Int16Array.of(0, 1000, -1000, 32_767, -32_768);

/** A WAV with these fields of its format, as other programs write it. */
function wav({ kind = 1, channels = 1, rate = 8000, bits = 16, before = Buffer.alloc(0) } = {}) {
  const whole = Buffer.from(writeWav({ rate, samples }));
  whole.writeUInt16LE(kind, 20);
  whole.writeUInt16LE(channels, 22);
  whole.writeUInt16LE(bits, 34);
  return Buffer.concat([whole.subarray(0, 12), before, whole.subarray(12)]);
}

it('reads the files that it writes', () => {
  expect(readWav(writeWav({ rate: 8000, samples }))).toEqual({ rate: 8000, samples });
});

it('skips other chunks, which start at even offsets', () => {
  const chunk = Buffer.from('LIST\x03\0\0\0abc\0', 'latin1');
  expect(readWav(wav({ before: chunk })).samples).toEqual(samples);
});

it('reads the first of several channels, and the remaining samples of a truncated file', () => {
  expect(readWav(wav({ channels: 2 })).samples).toEqual(Int16Array.of(0, -1000));
  expect(readWav(wav().subarray(0, -3)).samples).toEqual(samples.subarray(0, 3));
});

it.each([
  ['nothing', Buffer.alloc(0), 'not a WAV file'],
  ['text', Buffer.from('identity,City\nu1,Oslo\n'), 'not a WAV file'],
  ['its first bytes', wav().subarray(0, 12), 'without sound'],
  ['a format that ends early', wav().subarray(0, 30), 'ends early'],
  [
    'sound without a format',
    Buffer.concat([wav().subarray(0, 12), wav().subarray(36)]),
    'without sound',
  ],
  ['compressed sound', wav({ kind: 6 }), '16-bit samples'],
  ['samples of 8 bits', wav({ bits: 8 }), '16-bit samples'],
  ['no channel', wav({ channels: 0 }), '16-bit samples'],
  ['no sample rate', wav({ rate: 0 }), 'of 0 samples per second'],
  ['one sample per second', wav({ rate: 1 }), 'of 1 samples per second'],
  ['an endless sample rate', wav({ rate: 2 ** 32 - 1 }), 'of 4294967295 samples per second'],
])('refuses %s', (_what, bytes, message) => {
  expect(() => readWav(bytes)).toThrow(message);
});

it('reads 16-bit samples in the extensible format', () => {
  expect(readWav(wav({ kind: 0xfffe })).samples).toEqual(samples);
});

it('interpolates linearly between sample rates, and leaves samples of the same rate unchanged', () => {
  expect(resample({ rate: 8000, samples }, 8000)).toBe(samples);
  const up = resample({ rate: 8000, samples: Int16Array.of(0, 100, 200) }, 16_000);
  expect([...up]).toEqual([0, 50, 100, 150, 200, 200]);
  const down = resample({ rate: 16_000, samples: Int16Array.of(0, 50, 100, 150) }, 8000);
  expect([...down]).toEqual([0, 100]);
});

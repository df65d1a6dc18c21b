import { afterEach, expect, it, vi } from 'vitest';
import { PageScanner } from '../../src/text/page-scanner.js';
import { reserve } from '../../src/wasm.js';

afterEach(() => vi.unstubAllGlobals());

it('reports a processor without SIMD', () => {
  const Module = function unsupported() {
    throw new Error('Wasm SIMD unsupported');
  };
  vi.stubGlobal('WebAssembly', { Module });
  expect(() => new PageScanner()).toThrow(
    expect.objectContaining({ id: 'E-WEBASSEMBLY', exitCode: 2 }) as Error,
  );
});

it('reports a lack of memory', () => {
  const memory = {
    buffer: new ArrayBuffer(0),
    grow: () => {
      throw new RangeError('WebAssembly.Memory.grow(): Maximum memory size exceeded');
    },
  };
  expect(() => reserve(memory, 1000)).toThrow(
    expect.objectContaining({ id: 'E-WEBASSEMBLY' }) as Error,
  );
});

import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { SipHash } from '../../src/bulk/write/deduplication.js';
import { CuidSet, type FoundDuplicate } from '../../src/text/cuid-set.js';
import { instantiateTextProgram, type WasmMemory } from '../../src/wasm.js';

// The cuids of a run: which were met before, letter by letter or but for case, and where.

/** Adds texts, the even ones within an area, at places from `first` on. */
function added(
  set: CuidSet,
  texts: readonly string[],
  first: number,
): (FoundDuplicate | undefined)[] {
  const area = Buffer.from(`,${texts.filter((_, n) => n % 2 === 0).join('')},`);
  set.begin(texts.length, { bytes: area, start: 1, end: area.length - 1 });
  let at = 1;
  for (const [index, text] of texts.entries()) {
    const bytes = index % 2 === 0 ? area : Buffer.from(text);
    const start = index % 2 === 0 ? at : 0;
    const end = start + Buffer.byteLength(text);
    if (index % 2 === 0) at = end;
    set.put({ bytes, start, end }, first + index);
  }
  const all = Array.from<FoundDuplicate | undefined>({ length: texts.length });
  set.add((index, met) => {
    expect(set.textOf(index)).toBe(texts[index]);
    all[index] = met;
  });
  return all;
}

/** The same by maps. */
function oracle() {
  const same = new Map<string, number>();
  const folded = new Map<string, number>();
  return (text: string, place: number): FoundDuplicate | undefined => {
    const lower = text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
    const duplicate = same.get(text);
    if (duplicate !== undefined) return { how: 'duplicate', place: duplicate };
    const twin = folded.get(lower);
    same.set(text, place);
    if (twin === undefined) folded.set(lower, place);
    return twin === undefined ? undefined : { how: 'case-twin', place: twin };
  };
}

it('finds known texts and their positions like a map', () => {
  const letters = fc.string({
    unit: fc.constantFrom('a', 'A', 'b', 'B', '@', '[', 'é'),
    maxLength: 9,
  });
  const text = fc.oneof(letters, fc.constantFrom('abcDefgh', 'abcdefgH', 'abcdefgh', 'Abcdefgh'));
  fc.assert(
    fc.property(fc.array(fc.array(text, { maxLength: 60 }), { maxLength: 4 }), (blocks) => {
      const set = new CuidSet(() => 0.37, 1000);
      const met = oracle();
      let place = 1;
      for (const texts of blocks) {
        const wanted = texts.map((one, index) => met(one, place + index));
        expect(added(set, texts, place)).toEqual(wanted);
        place += texts.length;
      }
    }),
    { numRuns: 60 },
  );
});

it('tags a text by HalfSipHash of its lower case', () => {
  const program = instantiateTextProgram() as {
    readonly memory: WasmMemory;
    beginCuids(slots: number, low: number, high: number, factor: number): void;
    addCuids(...places: readonly number[]): void;
  };
  const hash = new SipHash([0x0302_0100, 0x0706_0504]);
  for (const text of ['', 'a', 'ABC', 'Abcd', 'abcdE', 'a cuid of some LENGTH_1']) {
    const bytes = Buffer.from(program.memory.buffer);
    bytes.fill(0);
    program.beginCuids(1, 0x0302_0100, 0x0706_0504, 77);
    const end = 2000 + bytes.write(text, 2000);
    new Uint32Array(program.memory.buffer, 1000, 3).set([2000, end, 9]);
    program.addCuids(1, 1000, 1008, 1012, 1016, 1020);
    const lower = Buffer.from(text.toLowerCase());
    hash.hash(lower, 0, lower.length);
    const [low, high, place] = new Uint32Array(program.memory.buffer, 0, 3);
    const wanted = [hash.words[0], hash.words[1]! >>> 24, 9];
    expect([low, high! >>> 24, place]).toEqual(wanted);
  }
});

import { CuidMaker } from '../../src/jobs/cuid/cuid-derivation.js';
import { TextSlice } from '../../src/text/text-slice.js';

type Text = readonly [value: string, device?: string | undefined];

/** Makes cuids of texts, with a key or readable ones. */
export function cuidsBy(key?: Buffer): (value: string, device?: string) => string {
  const make = allCuidsBy(key);
  return (value, device) => make([[value, device]])[0]!;
}

/** The same of many texts together. */
export function allCuidsBy(key?: Buffer): (texts: readonly Text[]) => string[] {
  const maker = new CuidMaker(key);
  return (texts) => {
    maker.begin(texts.length);
    for (const [value, device] of texts) {
      maker.put(textOf(value), device === undefined ? undefined : textOf(device));
    }
    maker.make();
    return texts.map((_, index) => maker.cuid(index).toString());
  };
}

function textOf(text: string): TextSlice {
  const bytes = Buffer.from(text);
  return new TextSlice().of(bytes, 0, bytes.length);
}

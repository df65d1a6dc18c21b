import { CuidMaker } from '../../src/jobs/cuid/cuid-maker.js';
import { CellText } from '../../src/mapping/cell-text.js';

/** Makes cuids of texts, with a key or readable ones. */
export function cuidsBy(key?: Buffer): (value: string, device?: string) => string {
  const maker = new CuidMaker(key);
  return (value, device) =>
    maker.make(textOf(value), device === undefined ? undefined : textOf(device)).toString();
}

function textOf(text: string): CellText {
  const bytes = Buffer.from(text);
  return new CellText().of(bytes, 0, bytes.length);
}

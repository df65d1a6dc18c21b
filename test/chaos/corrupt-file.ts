import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Random } from './random.js';

const kinds = ['flip', 'zero', 'cut', 'delete', 'repeat', 'swap'] as const;
export type DamageKind = (typeof kinds)[number];

/** Damages one of the files, as disks, editors and backups do; tells how. */
export function damageOne(files: readonly [string, ...string[]], random: Random): string {
  const file = random.pick(files);
  const kind = random.pick(kinds);
  const bytes = readFileSync(file);
  const lines = bytes.toString('latin1').split(/(?<=\n)/);
  const at = random.below(bytes.length);
  const line = random.below(lines.length);
  const some = (): Buffer => bytes.subarray(at, at + 1 + random.below(bytes.length - at));
  const put = (changed: readonly string[]) =>
    writeFileSync(file, Buffer.from(changed.join(''), 'latin1'));
  const isOfLines = random.chance(0.7);
  let how = isOfLines ? `line ${line}` : `byte ${at}`;
  if (kind === 'flip') {
    const bit = random.below(8);
    if (bytes.length > 0) bytes[at]! ^= 1 << bit;
    how = `bit ${bit} of byte ${at}`;
    writeFileSync(file, bytes);
  } else if (kind === 'zero') {
    if (isOfLines) put(lines.with(line, '\0'.repeat(lines[line]?.length ?? 0)));
    else writeFileSync(file, bytes.fill(0, at, at + some().length));
  } else if (kind === 'cut') {
    writeFileSync(file, bytes.subarray(0, at));
    how = `at ${at}`;
  } else if (kind === 'delete') {
    if (isOfLines) put(lines.toSpliced(line, 1));
    else rmSync(file);
  } else if (kind === 'repeat') {
    if (isOfLines) put(lines.toSpliced(line, 0, lines[line] ?? ''));
    else writeFileSync(file, Buffer.concat([bytes, some()]));
  } else {
    const other = random.below(lines.length);
    const otherFile = random.pick(files);
    if (isOfLines) {
      put(lines.with(line, lines[other] ?? '').with(other, lines[line] ?? ''));
      how += ` with ${other}`;
    } else {
      writeFileSync(file, readFileSync(otherFile));
      writeFileSync(otherFile, bytes);
      how = `with ${otherFile}`;
    }
  }
  return `${kind} ${file}, ${how}`;
}

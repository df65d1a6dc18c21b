import type { TextDigest } from '../../input/rows.js';
import type { LedgerSource } from './ledger.js';

/** The inputs of a run as the ledger has them: those that were read to their end. */
export function ledgerSources(
  digests: readonly TextDigest[],
  names: readonly string[],
): readonly LedgerSource[] {
  // What is said last of an input holds.
  const last = new Map(digests.map((digest) => [digest.input, digest]));
  const byInput = [...last.values()].toSorted((a, b) => a.input - b.input);
  const ends = new Map(byInput.map(({ input, ended }) => [input, ended?.end.ordinal]));
  return byInput.flatMap(({ input, offset: bytes, hash: digest, endsInLine, ended }) => {
    const before = input === 0 ? 0 : ends.get(input - 1);
    if (!ended || before === undefined) return [];
    const { offset, line, ordinal, state } = ended.end;
    return [
      {
        name: names[input] ?? '',
        bytes,
        digest,
        head: ended.head,
        records: ordinal - before,
        offset,
        line,
        ...(state !== undefined && { state }),
        endsInLine,
      },
    ];
  });
}

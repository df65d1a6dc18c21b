import type { TextDigests } from '../../input/text-digests.js';
import type { LedgerSource } from './ledger.js';

/** The inputs of a run as the ledger has them: those that were read to their end; one by one, for there may be many. */
export function* ledgerSources(
  digests: TextDigests,
  names: readonly string[],
): Generator<LedgerSource> {
  let before: number | undefined;
  for (const [input, name] of names.entries()) {
    const found = digests.get(input);
    const first = input === 0 ? 0 : before;
    before = found?.ended?.end.ordinal;
    if (!found?.ended || first === undefined) continue;
    const { offset: bytes, hash: digest, endsInLine, ended } = found;
    const { offset, line, ordinal, state } = ended.end;
    yield {
      name,
      bytes,
      digest,
      head: ended.head,
      records: ordinal - first,
      ...(offset !== bytes && { offset }),
      line,
      ...(state !== undefined && { state }),
      ...(endsInLine && { endsInLine }),
    };
  }
}

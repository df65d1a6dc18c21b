/** A look at the first bytes of a sequence of chunks, which `all` then gives out from the start. */
export interface WithHead {
  /** At least the bytes asked for, unless there are fewer. */
  readonly head: Buffer;
  readonly all: AsyncGenerator<Buffer>;
}

/** Reads until `least` bytes are there. */
export async function withHead(chunks: AsyncIterable<Buffer>, least: number): Promise<WithHead> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < least) {
    const { value, done } = await iterator.next();
    if (done) break;
    head = Buffer.concat([head, value]); // a copy: chunks are only lent
  }
  return { head, all: startingWith(head, iterator) };
}

async function* startingWith(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (;;) {
      const { value, done } = await rest.next();
      if (done) return;
      yield value;
    }
  } finally {
    await rest.return?.();
  }
}

import { finished } from 'node:stream/promises';
import { EngagectlError } from '../errors.js';
import {
  compressionOfBytes,
  compressions,
  longestMagic,
  type CompressionName,
} from '../contract/file-formats.js';
import { Breaks } from '../event-loop.js';
import { shellPath } from '../wording.js';

/** Compressed bytes inflated at once. At most 1032 times as many come out and wait in memory, so the size adapts to that. */
const sliceBytes = { least: 64, first: 1024, most: 16 * 1024 };
/** Text that should come out of a slice at most. */
const mostInflated = 1024 * 1024;

/**
 * Decompresses data that its first bytes show to be compressed, whatever its name, and passes on any
 * other. Several gzip members in a row are one text. Throws EngagectlError E-FILE-READ for a cut file, after
 * all that could be inflated, and for a damaged one, after what was inflated up to there.
 */
export async function* decompress(
  chunks: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<Buffer> {
  const { head, all } = await peekBytes(chunks, longestMagic);
  const compression = compressionOfBytes(head);
  if (compression === undefined) yield* all;
  else yield* inflate(all, { name, compression });
}

/**
 * Slice by slice, and not by `pipeline`, because a stream that fails throws away the text it
 * had already inflated. A failing zlib stream calls no callback, it only emits.
 */
async function* inflate(
  chunks: AsyncIterable<Buffer>,
  { name, compression }: { readonly name: string; readonly compression: CompressionName },
): AsyncGenerator<Buffer> {
  const inflater = await compressions[compression].inflater();
  const slicer = new Slicer();
  const breaks = new Breaks();
  let inflated: Buffer[] = [];
  inflater.on('data', (bytes: Buffer) => void inflated.push(bytes));
  async function* take(): AsyncGenerator<Buffer> {
    const texts = inflated;
    inflated = [];
    slicer.adapt(texts.reduce((sum, { length }) => sum + length, 0));
    for (const text of texts) {
      yield text;
      if (breaks.areDue(text.length)) await breaks.take();
    }
  }
  const ended = finished(inflater).then(
    () => undefined,
    (error: Error) => error,
  );
  try {
    for await (const slice of slicer.slices(chunks)) {
      const written = new Promise<undefined>((resolve) => {
        inflater.write(slice, () => resolve(undefined));
      });
      const failure = await Promise.race([ended, written]);
      yield* take();
      if (failure) throw damaged(name, failure, compression);
    }
    inflater.end();
    const failure = await ended;
    yield* take();
    if (failure) throw damaged(name, failure, compression);
  } finally {
    inflater.destroy();
  }
}

/** Cuts compressed bytes into slices of which not too much comes. */
class Slicer {
  #size: number = sliceBytes.first;

  async *slices(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      for (let at = 0, size = 0; at < chunk.length; at += size) {
        size = this.#size;
        yield chunk.subarray(at, at + size);
      }
    }
  }

  /** So many bytes came of the last slice. */
  adapt(inflated: number): void {
    const fit = inflated > mostInflated ? (this.#size * mostInflated) / inflated : 2 * this.#size;
    this.#size = Math.trunc(Math.min(Math.max(fit, sliceBytes.least), sliceBytes.most));
  }
}

function damaged(
  name: string,
  cause: Error & { code?: string },
  compression: CompressionName,
): EngagectlError {
  const cut = cause.code === 'Z_BUF_ERROR';
  return new EngagectlError(
    'E-FILE-READ',
    cut
      ? `${name} ends in the middle of its ${compression} data`
      : `${name} contains damaged ${compression} data`,
    {
      file: name,
      why: cut ? 'the file was cut, or is still being written' : cause.message,
      fix: `test it with: ${compression} -t ${shellPath(name)}; then fetch the whole file again`,
      cause,
    },
  );
}

/** A look at the first bytes of a sequence of chunks, which `all` then gives out from the start. */
interface WithHead {
  /** At least the bytes asked for, unless there are fewer. */
  readonly head: Buffer;
  readonly all: AsyncGenerator<Buffer>;
}

/** Reads until `least` bytes are there. */
export async function peekBytes(chunks: AsyncIterable<Buffer>, least: number): Promise<WithHead> {
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

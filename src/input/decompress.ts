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

/** Compressed bytes inflated at once. They expand up to 1032-fold in memory, so the size adapts to the ratio. */
const sliceBytes = { least: 64, first: 1024, most: 16 * 1024 };
/** Target for the inflated bytes of a slice: with 1 MiB, many survive V8's quick collections, and pile up to 60 MB. */
const mostInflated = 256 * 1024;

/**
 * Decompresses data whose first bytes are those of a compression format, whatever its name, and passes on other
 * data. Several gzip members in a row are one text. Throws EngagectlError E-FILE-READ for a truncated file, after
 * yielding everything before the end or the damage.
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
 * Inflates slice by slice instead of with `pipeline`, because a failing stream discards the text it
 * has already inflated. A failing zlib stream calls no callback; it only emits an error.
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
  let fed = 0;
  try {
    for await (const slice of slicer.slices(chunks)) {
      fed += slice.length;
      const written = new Promise<undefined>((resolve) => {
        inflater.write(slice, () => resolve(undefined));
      });
      const failure = await Promise.race([ended, written]);
      yield* take();
      if (failure) throw damaged(name, failure, compression);
      // A NUL after a member ends the text for zlib; only padding may follow.
      const unused = fed - inflater.bytesWritten;
      if (unused > 0 && slice.subarray(-unused).some((byte) => byte !== 0))
        throw damaged(name, new Error('data after the padding'), compression);
    }
    inflater.end();
    const failure = await ended;
    yield* take();
    if (failure) throw damaged(name, failure, compression);
  } finally {
    inflater.destroy();
  }
}

/** Cuts compressed bytes into slices that do not inflate to too much text. */
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

  /** Adapts the slice size to the inflated bytes of the last slice. */
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
      why: cut ? 'the file is truncated, or is still being written' : cause.message,
      fix: `check it with: ${compression} -t ${shellPath(name)}; then fetch the file again`,
      cause,
    },
  );
}

/** The first bytes of a sequence of chunks, and the whole sequence. */
interface WithHead {
  /** At least the requested number of bytes, unless the sequence is shorter. */
  readonly head: Buffer;
  readonly all: AsyncGenerator<Buffer>;
}

/** Reads chunks until at least `least` bytes are available. */
export async function peekBytes(chunks: AsyncIterable<Buffer>, least: number): Promise<WithHead> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < least) {
    const { value, done } = await iterator.next();
    if (done) break;
    head = Buffer.concat([head, value]); // a copy, because the buffer of a chunk is reused
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

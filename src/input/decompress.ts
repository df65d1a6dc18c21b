import { finished } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { EngagectlError } from '../errors.js';

const magic = Buffer.from([0x1f, 0x8b]);

/** Compressed bytes inflated at once: at most 1032 times as many come out and wait in memory. */
const sliceBytes = 16 * 1024;

/**
 * Inflates text that is gzip by its first two bytes, whatever its name, and passes on any other.
 * Several members in a row are one text. Throws EngagectlError E-FILE-READ for a cut file, after
 * all that could be inflated, and for a damaged one, after what was inflated up to there.
 */
export async function* gunzip(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const { head, all } = await withHead(chunks, magic.length);
  if (head.subarray(0, magic.length).equals(magic)) yield* inflate(all, name);
  else yield* all;
}

/**
 * Slice by slice, and not by `pipeline`, because a stream that fails throws away the text it
 * had already inflated. A failing zlib stream calls no callback, it only emits.
 */
async function* inflate(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const inflater = createGunzip({ chunkSize: 64 * 1024 });
  const inflated: Buffer[] = [];
  inflater.on('data', (bytes: Buffer) => void inflated.push(bytes));
  const ended = finished(inflater).then(
    () => undefined,
    (error: Error) => error,
  );
  try {
    for await (const slice of slices(chunks)) {
      const written = new Promise<undefined>((resolve) => {
        inflater.write(slice, () => resolve(undefined));
      });
      const failure = await Promise.race([ended, written]);
      yield* inflated.splice(0);
      if (failure) throw damaged(name, failure);
    }
    inflater.end();
    const failure = await ended;
    yield* inflated.splice(0);
    if (failure) throw damaged(name, failure);
  } finally {
    inflater.destroy();
  }
}

async function* slices(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      yield chunk.subarray(at, at + sliceBytes);
    }
  }
}

function damaged(name: string, cause: Error & { code?: string }): EngagectlError {
  const cut = cause.code === 'Z_BUF_ERROR';
  return new EngagectlError(
    'E-FILE-READ',
    cut ? `${name} ends in the middle of its gzip data` : `${name} holds damaged gzip data`,
    {
      file: name,
      why: cut ? 'the file was cut, or is still being written' : cause.message,
      fix: `test it with: gzip -t ${name}; then fetch the whole file again`,
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

import { closeSync, existsSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import { createReadStream } from 'node:fs';
import path from 'node:path';

/** Where a line of a rejects file lies, and whose record it is of. */
interface Place {
  readonly file: number;
  readonly start: number;
  readonly end: number;
  readonly source: number;
  readonly line: number;
}

/**
 * Puts the lines of several rejects files into one, in the order of the input: of `sources`, the
 * names of the inputs as the lines have them, then of lines. An older file is renamed. Returns how
 * many lines there are; for none no file is made.
 */
export async function collectRejects(
  files: readonly string[],
  sources: readonly string[],
  target: string,
): Promise<number> {
  const places: Place[] = [];
  for (const [index, file] of files.entries())
    places.push(...(await placesIn(file, index, sources)));
  if (places.length === 0) return 0;
  places.sort(
    (a, b) => a.source - b.source || a.line - b.line || a.file - b.file || a.start - b.start,
  );
  const inputs = files.map((file) => openSync(file, 'r'));
  const draft = `${target}.new`;
  const output = openSync(draft, 'w', 0o600);
  try {
    for (const { file, start, end } of places) {
      const line = Buffer.alloc(end - start);
      readSync(inputs[file]!, line, 0, line.length, start);
      writeSync(output, line);
    }
  } finally {
    for (const one of [...inputs, output]) closeSync(one);
  }
  if (existsSync(target)) renameSync(target, `${target}.1`);
  renameSync(draft, path.resolve(target));
  return places.length;
}

async function placesIn(
  name: string,
  file: number,
  sources: readonly string[],
): Promise<readonly Place[]> {
  const places: Place[] = [];
  let rest = Buffer.alloc(0);
  let start = 0;
  for await (const chunk of createReadStream(name)) {
    const text = Buffer.concat([rest, chunk as Buffer]);
    let from = 0;
    for (let to = 0; (to = text.indexOf(0x0a, from) + 1) > 0; from = to) {
      const { source, line } = JSON.parse(text.toString('utf8', from, to)) as {
        readonly source: string;
        readonly line: number;
      };
      const end = start + to - from;
      places.push({ file, start, end, source: sources.indexOf(source), line });
      start = end;
    }
    rest = text.subarray(from);
  }
  return places;
}

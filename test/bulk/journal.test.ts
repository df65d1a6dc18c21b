import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../support/property-runs.js';
import { createJournal, Journal, readJournal } from '../../src/bulk/journal/journal.js';
import { linesStart, markBytes } from '../../src/bulk/journal/journal-format.js';
import { makeWorld } from '../support/test-environment.js';

const kinds = { numbered: true };
type Entry = { readonly kind: 'numbered'; readonly n: number; readonly text: string };
const entry = (n: number): Entry => ({ kind: 'numbered', n, text: `Zürich "${n}" 🏔\n` });

/** The slots of the synced mark, before the first line. */
const marksOf = (path: string): Buffer => readFileSync(path).subarray(0, linesStart);

/** Of its entries the disk has the first three for sure, or all. */
async function written(
  world: ReturnType<typeof makeWorld>,
  { synced = true }: { readonly synced?: boolean } = {},
): Promise<string> {
  const path = world.path('journal');
  createJournal(path);
  const { journal: file } = Journal.open<Entry>(path, kinds);
  await file.append(entry(1));
  await file.append(entry(2), entry(3));
  file.write(entry(4), entry(5));
  if (synced) await file.sync();
  file.close();
  return path;
}

/** Another journal beside one, with this content. */
function copyOf(path: string, content: Buffer, name: string): string {
  const copy = `${path}-${name}`;
  writeFileSync(copy, content);
  return copy;
}

const damaged = expect.objectContaining({
  id: 'E-JOURNAL',
  exitCode: 8,
  details: expect.objectContaining({ fix: expect.stringContaining('fresh') }),
});

async function reopened(path: string): Promise<readonly Entry[]> {
  const { journal: file, entries } = Journal.open<Entry>(path, kinds);
  await file.append(entry(9));
  file.close();
  return entries;
}

describe('Journal', () => {
  it('keeps what was appended, wherever the last append was cut, and continues after it', async () => {
    const world = makeWorld();
    const journal = await written(world, { synced: false });
    const whole = readFileSync(journal);
    const last = whole.lastIndexOf('\n', whole.length - 2) + 1;
    for (let length = last; length < whole.length; length += 1) {
      const path = copyOf(journal, whole.subarray(0, length), `cut-${length}`);
      expect(await reopened(path)).toEqual([1, 2, 3].map(entry));
      expect(await reopened(path)).toEqual([1, 2, 3, 9].map(entry));
    }
  });

  it('drops a last line that lost its content but not its newline', async () => {
    const path = await written(makeWorld(), { synced: false });
    const bytes = readFileSync(path);
    bytes.fill(0, bytes.lastIndexOf('\n', bytes.length - 2) + 1, bytes.length - 1);
    writeFileSync(path, bytes);
    expect(await reopened(path)).toEqual([1, 2, 3].map(entry));
  });

  it('keeps the complete lines, whatever a power cut left of unsynced ones', async () => {
    const world = makeWorld();
    const path = await written(world);
    const { journal: file } = Journal.open<Entry>(path, kinds);
    const synced = readFileSync(path).length;
    for (const n of [6, 7, 8]) file.write(entry(n));
    file.close();
    const whole = readFileSync(path);
    const place = fc.integer({ min: synced, max: whole.length });
    await fc.assert(
      fc.asyncProperty(place, place, place, async (end, hole, holeEnd) => {
        const left = Buffer.from(whole).fill(0, hole, Math.max(hole, holeEnd)).subarray(0, end);
        writeFileSync(path, left);
        const intact = Math.min(end, hole < holeEnd ? hole : end);
        const lines = whole.subarray(linesStart, intact).toString().split('\n').length - 1;
        const expected = [1, 2, 3, 4, 5, 6, 7, 8].slice(0, lines - 1).map(entry); // 6 lines of 5 entries
        expect(await reopened(path)).toEqual(expected);
        expect(await reopened(path)).toEqual([...expected, entry(9)]);
      }),
    );
  });

  it('refuses damage before the last line: E-JOURNAL with the line', async () => {
    const path = await written(makeWorld());
    const bytes = readFileSync(path);
    const second = bytes.indexOf('\n', bytes.indexOf('\n', linesStart) + 1);
    bytes[second + 20]! ^= 1;
    writeFileSync(path, bytes);
    expect(() => Journal.open(path, kinds)).toThrow(
      expect.objectContaining({
        id: 'E-JOURNAL',
        message: expect.stringContaining('is damaged in line 3'),
        details: expect.objectContaining({ line: 3 }),
      }),
    );
    rmSync(path);
    expect(() => Journal.open(path, kinds)).toThrow('is damaged or missing');
  });

  it('refuses the entry of a later version, and leaves the file as it is: E-JOURNAL', () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    const later = { ...kinds, moved: true };
    const { journal } = Journal.open<Entry | { readonly kind: 'moved' }>(path, later);
    journal.write(entry(1));
    journal.write(entry(2), { kind: 'moved' });
    journal.close();
    const before = readFileSync(path);
    const refusal = expect.objectContaining({
      id: 'E-JOURNAL',
      exitCode: 8,
      details: expect.objectContaining({ line: 4, why: expect.stringContaining('"moved"') }),
    });
    expect(() => Journal.open(path, kinds)).toThrow(refusal);
    expect(() => readJournal(path, kinds)).toThrow(refusal);
    expect(readFileSync(path)).toEqual(before);
    const { journal: reopened, entries } = Journal.open(path, later);
    reopened.close();
    expect(entries).toHaveLength(3);
  });

  it('refuses entries without a kind, as early versions wrote them: E-JOURNAL', () => {
    const path = makeWorld().path('journal');
    const json = '{"synced":0,"entries":[{"intent":[[0,4]]}]}'; // a journal before format 1
    writeFileSync(path, `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`);
    expect(() => Journal.open(path, kinds)).toThrow(expect.objectContaining({ id: 'E-JOURNAL' }));
  });
});

describe('D a damaged journal', () => {
  const linesOf = (bytes: Buffer) =>
    bytes
      .subarray(linesStart)
      .toString()
      .split(/(?<=\n)/);

  it('is refused wherever it was truncated before its synced mark', async () => {
    const path = await written(makeWorld());
    const whole = readFileSync(path);
    const step = Math.round(whole.length / runs(whole.length));
    for (let length = 0; length < whole.length; length += step) {
      const cut = copyOf(path, whole.subarray(0, length), 'cut');
      expect(() => Journal.open(cut, kinds), `${length}`).toThrow(damaged);
      expect(readFileSync(cut)).toEqual(whole.subarray(0, length));
    }
  });

  it('is refused if any line is missing, repeated or moved', async () => {
    const path = await written(makeWorld());
    const whole = readFileSync(path);
    const lines = linesOf(whole);
    for (let at = 0; at < lines.length; at += 1) {
      const [line = '', next = ''] = lines.slice(at);
      const changes = { gone: [], twice: [line, line], swapped: [next, line] };
      for (const [name, change] of Object.entries(changes)) {
        if (name === 'swapped' && next === '') continue;
        const count = name === 'swapped' ? 2 : 1;
        const changed = Buffer.from(lines.toSpliced(at, count, ...change).join(''));
        const content = Buffer.concat([whole.subarray(0, linesStart), changed]);
        const copy = copyOf(path, content, `${name}-${at}`);
        const isTail = name === 'twice' && at === lines.length - 1;
        if (isTail) expect(await reopened(copy)).toEqual([1, 2, 3, 4, 5].map(entry));
        else expect(() => Journal.open(copy, kinds), copy).toThrow(damaged);
      }
    }
  });

  it('is refused if it is empty or both slots of the synced mark are damaged', async () => {
    const path = await written(makeWorld());
    const whole = readFileSync(path);
    for (const content of [Buffer.alloc(0), Buffer.from(whole).fill(0, 0, linesStart)]) {
      writeFileSync(path, content);
      expect(() => Journal.open(path, kinds)).toThrow(damaged);
    }
  });

  it('is resumed if one of the two slots of the synced mark is damaged', async () => {
    const path = await written(makeWorld());
    for (const at of [20, markBytes + 20]) {
      const flipped = readFileSync(path);
      flipped[at]! ^= 4;
      const copy = copyOf(path, flipped, `slot-${at}`);
      expect(await reopened(copy)).toEqual([1, 2, 3, 4, 5].map(entry));
    }
  });

  it('records in each slot one of the last two syncs', async () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    const { journal } = Journal.open<Entry>(path, kinds);
    const synced: number[] = [];
    for (const n of [1, 2, 3, 4, 5]) {
      await journal.append(entry(n));
      synced.push(statSync(path).size);
    }
    journal.close();
    for (const at of [20, markBytes + 20]) {
      const flipped = readFileSync(path).subarray(0, synced.at(-2)! - 1);
      flipped[at]! ^= 4;
      const copy = copyOf(path, flipped, `slot-${at}`);
      expect(() => Journal.open(copy, kinds)).toThrow(damaged);
    }
  });

  it('is readable by its owner only', async () => {
    expect(statSync(await written(makeWorld())).mode & 0o777).toBe(0o600);
  });
});

describe('D a journal of format 1, with its synced mark in another file', () => {
  /** Converts a journal to format 1. */
  async function format1(): Promise<string> {
    const path = await written(makeWorld());
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(linesStart));
    writeFileSync(`${path}.synced`, whole.subarray(0, linesStart));
    return path;
  }

  it('is continued in the current format', async () => {
    const path = await format1();
    expect(readJournal(path, kinds)).toEqual([1, 2, 3, 4, 5].map(entry));
    expect(await reopened(path)).toEqual([1, 2, 3, 4, 5].map(entry));
    expect(existsSync(`${path}.synced`)).toBe(false);
    expect(await reopened(path)).toEqual([1, 2, 3, 4, 5, 9].map(entry));
  });

  it('is refused if it or its mark is missing, or it is truncated before the mark: E-JOURNAL', async () => {
    const [cut, noMark, noJournal] = await Promise.all([format1(), format1(), format1()]);
    writeFileSync(cut, readFileSync(cut).subarray(0, -1));
    rmSync(`${noMark}.synced`);
    rmSync(noJournal);
    for (const path of [cut, noMark, noJournal]) {
      expect(() => Journal.open(path, kinds)).toThrow(damaged);
    }
  });

  it('leaves its former owner a mark that later owners ignore', async () => {
    const path = await format1();
    const { journal } = Journal.open<Entry>(path, kinds);
    await journal.append(entry(6));
    writeFileSync(`${path}.synced`, marksOf(path).fill(0, 0, 20)); // the former owner wakes up
    journal.close();
    expect(await reopened(path)).toEqual([1, 2, 3, 4, 5, 6].map(entry));
  });
});

/** The descriptors of this process that lead to a file. */
function descriptorsOf(file: string): number[] {
  const { dev, ino } = statSync(file);
  return Array.from({ length: 1024 }, (_, descriptor) => descriptor).filter((descriptor) => {
    try {
      const found = fstatSync(descriptor);
      return found.dev === dev && found.ino === ino;
    } catch {
      return false; // not open
    }
  });
}

/** Opens a file under a descriptor that is free. */
function openAs(descriptor: number, file: string): void {
  const others: number[] = [];
  for (let opened = -1; opened !== descriptor;) {
    opened = openSync(file, 'r+');
    expect(opened).toBeLessThanOrEqual(descriptor);
    if (opened !== descriptor) others.push(opened);
  }
  for (const other of others) closeSync(other);
}

describe('D a journal after a failed write', () => {
  it('accepts nothing more after a failed sync, although the next would succeed', async () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    const { journal } = Journal.open<Entry>(path, kinds);
    await journal.append(entry(1));
    journal.write(entry(2));
    const before = marksOf(path);
    const [descriptor] = descriptorsOf(path);
    closeSync(descriptor!);
    const failure: unknown = await journal.sync().catch((error: unknown) => error);
    expect(failure).toMatchObject({ id: 'E-FILE-WRITE', exitCode: 9 });
    openAs(descriptor!, path);

    await expect(journal.sync()).rejects.toBe(failure);
    await expect(journal.append(entry(3))).rejects.toBe(failure);
    expect(() => journal.write(entry(4))).toThrow(failure);
    expect(marksOf(path), 'the synced mark').toEqual(before);
    journal.close();
    expect(await reopened(path)).toEqual([1, 2].map(entry));
  });

  it('commits nothing more after a failed write, although the disk has all earlier lines', async () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    const { journal } = Journal.open<Entry>(path, kinds);
    await journal.append(entry(1));
    const [descriptor] = descriptorsOf(path);
    closeSync(descriptor!);
    const failed = expect.objectContaining({ id: 'E-FILE-WRITE' });
    expect(() => journal.write(entry(2))).toThrow(failed);
    openAs(descriptor!, path);
    await expect(journal.sync()).rejects.toEqual(failed);
    journal.close();
    expect(await reopened(path)).toEqual([entry(1)]);
  });
});

describe('the owner of a journal', () => {
  const lost = expect.objectContaining({ id: 'E-RUN-LOCKED', exitCode: 8 });

  it('is the process that opened it last; an earlier one can neither write nor commit', async () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    const { journal: first } = Journal.open<Entry>(path, kinds);
    await first.append(entry(1));
    first.write(entry(2));
    const { journal: second, entries } = Journal.open<Entry>(path, kinds);
    expect(entries).toEqual([1, 2].map(entry));
    await expect(first.sync()).rejects.toThrow(lost);
    expect(() => first.write(entry(3))).toThrow(lost);
    await second.append(entry(4));
    expect(() => first.write(entry(5))).toThrow(lost);
    second.close();
    first.close();
    expect(await reopened(path)).toEqual([1, 2, 4].map(entry));
  });

  it('detects that the run was removed', () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    const { journal } = Journal.open<Entry>(path, kinds);
    rmSync(path);
    expect(() => journal.write(entry(1))).toThrow(lost);
    journal.close();
  });

  it('detects that another process wrote to the file', () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    const { journal } = Journal.open<Entry>(path, kinds);
    journal.write(entry(1));
    appendFileSync(path, 'of another process\n');
    expect(() => journal.write(entry(2))).toThrow(lost);
    journal.close();
  });

  it('raises the epoch', () => {
    const path = makeWorld().path('journal');
    createJournal(path);
    for (let owners = 0; owners < 3; owners += 1) Journal.open(path, kinds).journal.close();
    const lines = readFileSync(path).subarray(linesStart).toString().trimEnd().split('\n');
    const epochs = lines.map((line) => (JSON.parse(line.slice(9)) as { epoch: number }).epoch);
    expect(epochs).toEqual([0, 1, 2, 3]);
  });
});

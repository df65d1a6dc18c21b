import { rawOf, type Cut, type Cutter } from './cutter.js';
import { overlong, screen } from './screen.js';
import type { Position, RowBlock, RowFault } from './row-block.js';
import type { TextWindow } from './text-window.js';

/** The text of one input after its header. */
export interface CutInput {
  readonly source: string;
  readonly window: TextWindow;
  readonly cutter: Cutter;
  /** Where the window starts. */
  readonly start: Position;
  readonly maxRecordBytes: number;
}

/**
 * Cuts one input into blocks of at most some hundred KB (one record may be `maxRecordBytes`).
 * Whatever is wrong with a record becomes a fault; only the source itself can throw.
 */
export async function* readBlocks(input: CutInput): AsyncGenerator<RowBlock> {
  const { window, cutter, maxRecordBytes } = input;
  let { line, ordinal } = input.start;
  const toBlock = (bytes: Buffer, cut: Cut): RowBlock => {
    const first = ordinal;
    ordinal += cut.count + cut.faults.length;
    return blockOf(input, bytes, { cut, first, line, ordinal });
  };
  for (;;) {
    const text = window.bytes;
    const cut = cutter.cut(text, line, window.ended);
    line = cut.line;
    window.drop(cut.used);
    if (cut.count > 0 || cut.faults.length > 0) {
      const bytes = text.subarray(0, cut.used);
      yield toBlock(bytes, screen(bytes, cut, maxRecordBytes));
    }
    if (cut.used > 0) continue;
    // A line end may take two more bytes, and is not part of the record.
    if (text.length > maxRecordBytes + 2) {
      const fault = overlongFault(text, line, maxRecordBytes);
      line = await skipRecord(window, cutter, line);
      yield toBlock(text.subarray(0, 0), { ...noRecords, faults: [fault] });
    } else if (window.ended) {
      return;
    } else {
      await window.grow();
    }
  }
}

/** Drops bytes until the record is passed; returns the line on which the text goes on. */
async function skipRecord(window: TextWindow, cutter: Cutter, from: number): Promise<number> {
  let line = from;
  for (;;) {
    const skip = cutter.skip(window.bytes, line, window.ended);
    line = skip.line;
    window.drop(skip.used);
    if (skip.done || window.ended) return line;
    await window.grow();
  }
}

const noRecords: Cut = {
  used: 0,
  line: 0,
  count: 0,
  bounds: new Int32Array(0),
  lines: new Uint32Array(0),
  cells: new Int32Array(0),
  faults: [],
};

/** The block holds the memory of the text once for each of its records and faults. */
function blockOf(
  { source, window, cutter, start }: CutInput,
  bytes: Buffer,
  { cut, first, line, ordinal }: { cut: Cut; first: number; line: number; ordinal: number },
): RowBlock {
  const { count, faults, behind } = cut;
  const { header, markers, program, state } = cutter;
  const { bounds, lines, cells: cellBounds } = window.memory!.keep(cut);
  const memory = window.memory!.hold(count + faults.length);
  const cells = header && cellBounds && { header, markers, program, bounds: cellBounds };
  if (cells && program && program.cells === cut.cells) program.cells = cells.bounds;
  const place = { input: start.input, offset: window.offset, line, ordinal };
  const end = state === undefined ? place : { ...place, state };
  const text = behind ? Buffer.concat([bytes, behind]) : bytes;
  return { source, bytes: text, memory, count, bounds, lines, cells, first, end, faults };
}

function overlongFault(text: Buffer, line: number, maxRecordBytes: number): RowFault {
  // A copy, so that the fault does not keep the whole window.
  return { at: 0, line, error: overlong(maxRecordBytes), raw: Buffer.from(rawOf(text)) };
}

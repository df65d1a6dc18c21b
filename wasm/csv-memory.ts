// Where an instance that cuts and writes CSV has what. First tables of a fixed size, then the text, and behind it, in a place
// that the caller names, the form of the records and what is written.

/** Many short records at once, or few wide ones. */
export const mostRecords: i32 = 4096;
export const mostCells: i32 = 65_536;

// The records that were cut: of each its line, its start and end, and those of its cells; see RowBlock in `src/input/rows.ts`.
export const lines: i32 = 0;
export const bounds: i32 = lines + 4 * mostRecords;
export const cells: i32 = bounds + 8 * mostRecords;

/** What was cut and is no record: of each five i32; see `addFault`. */
export const faults: i32 = cells + 8 * mostCells;

// The records that were written: of each its row, its start and end, and the hash of its key; see RecordBlock.
export const rows: i32 = faults + 20 * mostRecords;
export const writtenBounds: i32 = rows + 4 * mostRecords;
export const keys: i32 = writtenBounds + 8 * mostRecords;

// The bytes that mark delimiter, quote, escape and comment.
export const markerBytes: i32 = 1024;
export const markers: i32 = keys + 4 * mostRecords;

export const text: i32 = markers + 4 * markerBytes;

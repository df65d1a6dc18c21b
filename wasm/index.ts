// All that looks at text byte by byte, as one program in AssemblyScript (TypeScript with the types of WebAssembly;
// https://www.assemblyscript.org). `src/wasm.ts` makes an instance of it for each use: to find the cells of
// CSV, to write records, to read JSON, to read pages, to make cuids. An instance has a memory of its own, laid out by that use.

export {
  bounds,
  cells,
  failures,
  keys,
  lines,
  markers,
  rows,
  text,
  writtenBounds,
  at as cutAt,
  begin as beginCut,
  count as cutCount,
  cut,
  end as scannedEnd,
  failureAt,
  failureCount,
  line as cutLine,
  lineEnds,
  scan,
  scanCells,
  unfinished as unfinishedCell,
  useMarkers,
  width,
} from './csv-scanner';
export {
  begin as beginRecords,
  count as writtenCount,
  currentEnd,
  currentRow,
  key as writtenKey,
  skip as skipRow,
  start as writtenStart,
  write as writeRows,
} from './csv-record-writer';
export {
  addAll as addCuids,
  begin as beginCuids,
  size as cuidCount,
  touched as touchedCuids,
} from './cuid-set';
export {
  append as appendCuids,
  make as makeCuids,
  padding as cuidPadding,
  room as cuidRoom,
  setKey as setCuidKey,
  stride as cuidStride,
} from './cuid-derivation';
export {
  add as addEntries,
  begin as beginEntries,
  compare as compareEntries,
  has as hasEntries,
  isMissed as isMissedEntry,
  seen as seenEntries,
  touched as touchedEntries,
} from './baseline-table';
export { beginElement, elementEnd, stoppedAt as elementStop } from './json-array';
export {
  deepest,
  read as readJson,
  reserve as reserveJson,
  unescape,
  unescapedEnd,
} from './json-parser';
export { hasHalf } from './json-tokens';
export { fingerprintEvents, hashKey, hashPage, hashRecords, setSecret } from './record-hash';
export { setShards, shardOf, shardsOfCells, shardsOfLines } from './shard-finder';
export {
  beginPage,
  elementCount,
  elements,
  emptyLists,
  markCount,
  marks,
  page,
  scanPage,
  stoppedAt,
} from './page-scanner';
export { escapeFormulas, formulas, setFormulas } from './csv-cell-writer';
export {
  addPlace,
  columnCount,
  findPlace,
  giveColumn,
  parentOf,
  placeOfColumn,
  root as rootPlace,
  spellingEnd,
  spellingOf,
  boundsRoom,
  flatten,
  learn,
  recordRoom,
  rows as flattened,
  rowsEnd as flattenedEnd,
  keepTypes,
  takeObjects,
} from './json-flattener';

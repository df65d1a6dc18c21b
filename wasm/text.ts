// All that looks at text byte by byte, as one program in AssemblyScript (TypeScript with the types of WebAssembly;
// https://www.assemblyscript.org). `src/text/text-program.ts` makes an instance of it for each use: to find the cells of
// CSV, to write records, to read JSON, to read pages. An instance has a memory of its own, which is laid out by that use.

export {
  at as cellsAt,
  begin as beginCells,
  bounds as recordBounds,
  cells,
  count as cellRecords,
  cut,
  faultAt as cellFaultAt,
  line as cellLine,
  lines as recordLines,
  scan,
  text as cellText,
  width as cellWidth,
} from './csv-cells';
export {
  at as recordsAt,
  begin as beginRecords,
  count as recordCount,
  key as recordKey,
  row as recordRow,
  skip as skipRecord,
  start as recordStart,
  write as writeRecords,
} from './csv-records';
export {
  deepest,
  expect as expectUpload,
  nameRoom,
  pass as passRows,
  read as readJson,
  reserve as reserveJson,
  rowTable,
  want,
  wantName,
} from './json-text';
export { page, pass as passInside } from './page-insides';

/** Breaches of the rules of imports.test.ts that are still in the house. The list only gets shorter. */
export const notYet: readonly string[] = [
  'bulk/export/wasm-bytes.ts -> text/text-program.ts',
  'circle: bulk/export/export-slice.ts, bulk/export/export.ts',
  'commands/connect.ts -> import() client/create-client.ts',
  'commands/doctor/folders.ts -> files/run-lock.ts',
  'commands/input-options.ts -> input/rows.ts',
];

/** Breaches of the rules of imports.test.ts that are still in the house. The list only gets shorter. */
export const notYet: readonly string[] = [
  'bulk/export/wasm-bytes.ts -> text/text-program.ts',
  'circle: bulk/export/export-slice.ts, bulk/export/export.ts',
  'commands/connect.ts -> import() client/create-client.ts',
  'commands/doctor/folders.ts -> files/run-lock.ts',
  'commands/input-options.ts -> input/rows.ts',
  'commands/preview-sample.ts -> mapping/survey/survey.ts',
  'commands/preview-sample.ts -> type bulk/write/request-count.ts',
  'commands/preview-sample.ts -> type input/rows.ts',
  'commands/preview-sample.ts -> type mapping/records.ts',
  'commands/preview.ts -> bulk/intake.ts',
  'commands/preview.ts -> bulk/write/request-count.ts',
  'commands/preview.ts -> input/first-records.ts',
  'commands/preview.ts -> input/open.ts',
  'commands/preview.ts -> mapping/survey/findings.ts',
  'commands/preview.ts -> mapping/upload.ts',
];

/** What to say about cells that a spreadsheet would run. */
export function formulaWarnings(formulas: number, escaped: boolean): readonly string[] {
  if (formulas === 0) return [];
  const cells = formulas === 1 ? '1 cell' : `${formulas} cells`;
  return escaped
    ? [`${cells} that a spreadsheet would run as a formula got a leading '`]
    : [`${cells} would be run as a formula by a spreadsheet; --csv-formulas escape prevents it`];
}

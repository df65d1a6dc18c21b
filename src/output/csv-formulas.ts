/** What spreadsheets run when it opens a cell; `+` and `-` also open numbers and phone numbers. */
const opensFormula = /^[=@\t\r\n+-]/;
const harmless = /^[+-][\d .,()/-]*\d(?:[eE][+-]?\d+)?$/;

/** Whether a spreadsheet would run this text. Numbers and phone numbers are exempt. */
export const isFormula = (text: string): boolean => opensFormula.test(text) && !harmless.test(text);

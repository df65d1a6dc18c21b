/** Thrown for a record that is not processed (service-facts, Codes per record): nothing of it is stored then. */
export class RecordFault extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.name = 'RecordFault';
    this.code = code;
  }
}

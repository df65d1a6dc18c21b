/** Why one record was not processed (service-facts, Codes per record). */
export interface Fault {
  readonly code: number;
  readonly error: string;
}

/** A fault that shows only when the record meets what is stored. */
export class RecordFault extends Error implements Fault {
  readonly code: number;
  readonly error: string;

  constructor(code: number, error: string) {
    super(error);
    this.name = 'RecordFault';
    this.code = code;
    this.error = error;
  }
}

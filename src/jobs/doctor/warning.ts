/** A thing that works, and will not for long or not for everything. */
export interface Warning {
  readonly warning: string;
  readonly fix: string;
}

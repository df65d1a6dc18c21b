import { recordCodes } from '../../contract/error-codes.js';
import { malformed } from '../response.js';
import { RecordError } from './record-validation.js';
import type { Members } from '../raw-json.js';

const mostWarnings = 20;

/**
 * Reports what the specification does not allow but deployments may tolerate: an error in strict mode, otherwise a
 * warning in the request log.
 */
export class Deviations {
  readonly #isStrict: boolean;
  readonly #warnings = new Set<string>();

  constructor(isStrict: boolean) {
    this.#isStrict = isStrict;
  }

  /** Distinct warnings, at most 20. */
  get warnings(): readonly string[] {
    return [...this.#warnings].slice(0, mostWarnings);
  }

  /** Throws RequestError 400 in strict mode. */
  ofRequest(what: string): void {
    if (this.#isStrict) throw malformed(`strict: ${what}`);
    this.#warnings.add(what);
  }

  /** Throws RecordError in strict mode. */
  ofRecord(what: string): void {
    if (this.#isStrict) throw new RecordError(recordCodes.eventStructure, `Strict mode: ${what}.`);
    this.#warnings.add(what);
  }

  unknownMembers(members: Members, known: readonly string[], where: 'd' | 'record'): void {
    for (const name of members.keys()) {
      if (known.includes(name)) continue;
      if (where === 'record') this.ofRecord(`unknown member "${name}" of a record`);
      else this.ofRequest(`unknown member "${name}" of the body`);
    }
  }
}

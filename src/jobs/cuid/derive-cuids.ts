import { EngagectlError } from '../../errors.js';
import { TextSlice } from '../../text/text-slice.js';
import { RowValues, valueError } from '../../mapping/row-values.js';
import { validationError, type RejectReason } from '../../mapping/record-block.js';
import { openOutput, prepareOutputs } from '../../output/document-output.js';
import { lineOf, DuplicateCuids, type DuplicateOf } from './check-cuids.js';
import { loadCuidKey, CuidMaker } from './cuid-derivation.js';
import { derivedOutput, type DerivedRows } from './derived-output.js';
import { runRowJob, type RowsOptions, type RowJobResult, type RowConsumer } from '../row-job.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { RowBlock } from '../../input/row-block.js';
import type { OutputOptions } from '../../output/formats.js';
import type { Output } from '../../output/output.js';
import type { JobHooks } from '../job-results.js';
import type { JobContext } from '../job-context.js';

export interface DeriveCuidsOptions extends RowsOptions {
  /** Column that identifies the user. */
  readonly from: string;
  /** Column that distinguishes the devices of a user. */
  readonly deviceColumn?: string;
  /** Default: `hash` with a key file, otherwise `slug`. Contact data requires an explicit choice. */
  readonly style?: 'slug' | 'hash';
  /** Key file of the style `hash`. */
  readonly keyFile?: string;
  /** Output path; undefined is stdout. */
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly fresh?: boolean;
}

interface DeriveFigures {
  readonly style: 'slug' | 'hash' | null;
  readonly bytes: number;
  /** Null if the rows were not written to a file. */
  readonly output: string | null;
}
type DeriveCuidsResult = RowJobResult & DeriveFigures;

/** Adds a cuid, derived from a column, to each row of an input. */
export async function deriveCuids(
  options: DeriveCuidsOptions,
  context: JobContext,
  hooks: JobHooks<DeriveCuidsResult> = {},
): Promise<DeriveCuidsResult> {
  const { from, deviceColumn } = options;
  const key = await loadCuidKey(options, context);
  const columns = deviceColumn === undefined ? [from] : [from, deviceColumn];
  const kind = {
    name: 'cuid derive',
    columns,
    fix: 'use column names of the header',
    rejected: 'could not get a cuid',
  };
  return runRowJob(kind, { options, context, hooks }, async (tally, inputs) => {
    const values = new RowValues([...columns, 'cuid'], true);
    const { rows, output } = derivedOutput(options, { inputs, values }, context.words);
    await prepareOutputs([output], context.runtime, { ownPartials: false });
    return new CuidDeriver({ options, key, context, tally, values, rows, output });
  });
}

interface DeriverParts {
  readonly options: DeriveCuidsOptions;
  readonly key: Buffer | undefined;
  readonly context: JobContext;
  readonly tally: Tally;
  readonly values: RowValues<string>;
  readonly rows: DerivedRows;
  readonly output: OutputOptions;
}

class CuidDeriver implements RowConsumer<DeriveFigures> {
  readonly #parts: DeriverParts;
  readonly #known: DuplicateCuids;
  readonly #value = new TextSlice();
  readonly #device = new TextSlice();
  readonly #hasDevice: boolean;
  readonly #maker: CuidMaker;
  #style: 'slug' | 'hash' | undefined;
  #output: Output | undefined;

  constructor(parts: DeriverParts) {
    this.#parts = parts;
    this.#known = new DuplicateCuids(parts.context.runtime.random);
    this.#hasDevice = parts.options.deviceColumn !== undefined;
    this.#maker = new CuidMaker(parts.key);
  }

  async take(rows: RowBlock): Promise<void> {
    const { tally, rows: derived } = this.#parts;
    for (const failure of rows.parseErrors) tally.parseError(rows, failure);
    const failures = new Map<number, RejectReason>();
    const taken = this.#takeValues(rows, failures);
    this.#make(rows, taken, failures);
    const rejectedRows = [...failures.keys()].toSorted((a, b) => a - b);
    for (const row of rejectedRows) {
      const failure = failures.get(row)!;
      tally.reject(rows, row, { ...failure, stage: stageOf(failure) });
    }
    this.#known.refuseTooMany();
    const kept: number[] = [];
    for (let index = 0; index < taken.length; index += 1) {
      if (!failures.has(taken[index]!)) kept.push(index);
    }
    const output = await this.#opened();
    await output.writePage(derived.page({ rows, taken, kept, made: this.#maker }));
    let first = 0;
    for (const row of [...rejectedRows, rows.count]) {
      if (row > first) tally.accept(rows, first, row - first);
      first = row + 1;
    }
  }

  async finish(): Promise<void> {
    const output = await this.#opened();
    await output.seal();
    await output.publish();
  }

  async close(): Promise<void> {
    await this.#output?.abort();
  }

  more(): DeriveFigures {
    const { path = null } = this.#parts.output;
    const style = this.#style ?? null;
    return { style, bytes: this.#output?.bytes ?? 0, output: path };
  }

  /** Derives the cuids of the batch, and adds an error for each duplicate to `failures`. */
  #make(rows: RowBlock, taken: readonly number[], failures: Map<number, RejectReason>): void {
    this.#maker.make();
    this.#known.begin(rows, this.#maker.cuids);
    for (let index = 0; index < taken.length; index += 1) {
      this.#known.put(rows, taken[index]!, this.#maker.cuid(index));
    }
    this.#known.meet(({ row, cuid }, met) => {
      failures.set(row, validationError(collision(cuid, met, rows.source)));
    });
  }

  /** Adds the values of valid rows to the batch; returns these rows. */
  #takeValues(rows: RowBlock, failures: Map<number, RejectReason>): readonly number[] {
    const { values, rows: derived } = this.#parts;
    const taken: number[] = [];
    this.#maker.begin(rows.count);
    for (let row = 0; row < rows.count; row += 1) {
      const failure = values.moveTo(rows, row) ?? this.#read();
      if (failure) {
        failures.set(row, failure);
        continue;
      }
      this.#style ??= this.#chosen(this.#value);
      this.#maker.put(this.#value, this.#hasDevice ? this.#device : undefined);
      derived.hold();
      taken.push(row);
    }
    return taken;
  }

  #read(): RejectReason | undefined {
    const { values, options, key, context } = this.#parts;
    const { from, deviceColumn, style } = options;
    if (!values.isNamed) return validationError('the record must be a JSON object');
    if (values.has('cuid')) return validationError('the record already has a "cuid"');
    const failure = values.read(from, this.#value);
    if (failure) return failure;
    if (this.#value.isEmpty) return valueError(from, 'the value is empty');
    // Whoever chose the first value, for which `#chosen` throws, must not decide that all other addresses are readable.
    const isReadable = style === undefined && key === undefined;
    if (isReadable && this.#style !== undefined && isContact(this.#value.toString()))
      return validationError(contactText(from, context));
    if (deviceColumn === undefined) return undefined;
    const wrong = values.readOptional(deviceColumn, this.#device);
    if (wrong || !isReadable || !isContact(this.#device.toString())) return wrong;
    return validationError(contactText(deviceColumn, context));
  }

  /** Chooses the style. Throws E-USAGE if contact data would become readable by default. */
  #chosen(first: TextSlice): 'slug' | 'hash' {
    const { options, key, context } = this.#parts;
    const { from, style } = options;
    if (key) return 'hash';
    if (style === undefined && holdsContacts(from, first.toString())) throw needsKey(from, context);
    return 'slug';
  }

  async #opened(): Promise<Output> {
    const { output, context } = this.#parts;
    this.#output ??= await openOutput(output, context.runtime);
    return this.#output;
  }
}

const stageOf = ({ stage }: RejectReason) => (stage === 'parse' ? 'parse' : 'validate');

function collision(cuid: string, met: DuplicateOf, source: string): string {
  const place = lineOf(met, source);
  return met.how === 'duplicate'
    ? `the cuid would be ${cuid}, as on ${place}: the same user, or two users that this style cannot distinguish`
    : `the cuid would be ${cuid}, which differs only by case from that on ${place}`;
}

const needsKey = (from: string, { words }: JobContext): EngagectlError =>
  new EngagectlError(
    'E-USAGE',
    `column ${JSON.stringify(from)} contains email addresses or phone numbers`,
    {
      why: 'the other party of a call can see the cuid',
      fix: `hash them with ${words.option('keyFile', '<file>')}, or allow readable cuids with ${words.option('style', 'slug')}`,
    },
  );

const contactName = /e-?mail|phone|mobile|msisdn|whatsapp|(?:^|[^a-z])tel(?:$|[^a-z])/i;
const contactValue = /@|^(?:tel:|whatsapp:)?(?:\+|00)[\d\s().-]{7,}$/i;

/** Whether a value is an email address or phone number, also with spaces around it or with full-width characters. */
const isContact = (value: string): boolean => contactValue.test(value.normalize('NFKC').trim());

const contactText = (from: string, { words }: JobContext): string =>
  `column ${JSON.stringify(from)}: an email address or phone number, and the other party of a call can see the cuid: hash all values with ${words.option('keyFile', '<file>')}, or allow readable cuids with ${words.option('style', 'slug')}`;

/** Whether a column contains contact data, judged by its name and its first value. */
const holdsContacts = (column: string, first: string): boolean =>
  contactName.test(column) || isContact(first);

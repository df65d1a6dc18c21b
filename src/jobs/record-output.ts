import { openOutput, prepareOutputs } from '../output/document-output.js';
import { isStdout } from '../output/formats.js';
import { outputOptions } from './output-options.js';
import { openStdout } from '../output/sink.js';
import type { FileOptions } from './job-options.js';
import type { JobContext } from './job-context.js';
import type { Output } from '../output/output.js';

export { prettyPrintJson as prettyJson } from '../text/raw-json.js';

/** Output for single records. The caller must finish or abort it. */
export interface RecordOutput {
  readonly bytes: number;
  readonly warnings: readonly string[];
  /** Writes the text of one JSON object; undefined writes nothing. */
  write(record: Buffer | undefined): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}

/** Bytes per write to a file. On stdout each record is written immediately. */
const pageBytes = 256 * 1024;

/** Opens an output like that of exports. Throws E-FILE-WRITE, E-OUTPUT-EXISTS, E-PARTIAL-EXISTS. */
export async function openRecordOutput(
  name: string | undefined,
  how: FileOptions,
  { runtime, words }: Pick<JobContext, 'runtime' | 'words'>,
): Promise<RecordOutput> {
  const options = outputOptions(name, how, words.option);
  await prepareOutputs([options], runtime, { ownPartials: false });
  const output = await openOutput(options, runtime);
  const writer = new PageCollector(output, isStdout(name) ? 1 : pageBytes);
  return {
    get bytes() {
      return output.bytes;
    },
    get warnings() {
      return output.warnings;
    },
    write: async (record) => record && writer.write(record),
    finish: async () => {
      await writer.flush();
      await output.seal();
      await output.publish();
    },
    abort: () => output.abort(),
  };
}

/** Writes lines to stdout with backpressure. Throws E-STDOUT-CLOSED if the reader has gone. */
export function openLineWriter(
  runtime: Pick<JobContext['runtime'], 'stdout'>,
  { option }: JobContext['words'],
): (lines: string) => Promise<void> {
  const { file } = openStdout(runtime.stdout, option);
  return (lines) => file.write(Buffer.from(lines));
}

/** Collects single records into pages of about `pageBytes`, since an output commits page by page. */
class PageCollector {
  readonly #output: Output;
  readonly #pageBytes: number;
  #records: Buffer[] = [];
  #bytes = 0;

  constructor(output: Output, pageBytes: number) {
    this.#output = output;
    this.#pageBytes = pageBytes;
  }

  /** Adds the text of one JSON object. */
  async write(record: Buffer): Promise<void> {
    this.#records.push(record);
    this.#bytes += record.length + 1;
    if (this.#bytes >= this.#pageBytes) await this.flush();
  }

  /** Writes the current page. */
  async flush(): Promise<void> {
    const records = this.#records;
    const bytes = Buffer.alloc(this.#bytes, ',');
    const bounds = new Int32Array(2 * records.length);
    let end = 0;
    for (const [index, record] of records.entries()) {
      bounds[2 * index] = end;
      end += record.copy(bytes, end);
      bounds[2 * index + 1] = end;
      end += 1; // one byte between two records, as in a page of the service
    }
    this.#records = [];
    this.#bytes = 0;
    await this.#output.writePage({ bytes, bounds, count: records.length });
  }
}

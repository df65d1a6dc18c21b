import { handedOver, type Handover } from './handover.js';
import { foreseen, runOf, type LibraryWorld } from './library-context.js';
import type { RecordPage, Checkpoint, FileMark, Output } from '../../output/output.js';
import type { ExportRequest } from '../export/export-files.js';
import type { DayFileOptions, JobOptions } from '../job-options.js';
import type { Export, JsonObject } from './api.js';
import type { ExportHooks } from '../export/run-export.js';
import type { ExportResult } from '../job-results.js';
import type { World } from '../job-context.js';

type ExportJob = (
  request: Pick<ExportRequest, 'output' | 'into'> & DayFileOptions,
  world: World,
  hooks?: ExportHooks,
) => Promise<ExportResult>;

/** An export that is done when its records are asked for, or when it is written to a file. */
export function exportOf(
  library: LibraryWorld,
  { signal }: JobOptions,
  job: ExportJob,
): Export<DayFileOptions> {
  const texts = () =>
    textsOf(
      handedOver<RecordPage>(async (pages, left) => {
        const world = library.of(signal ? AbortSignal.any([signal, left]) : left);
        const { error } = await foreseen(job({ into: new PageChannel(pages) }, world), world);
        return error;
      }),
    );
  async function* records(): AsyncGenerator<JsonObject> {
    for await (const text of texts()) yield JSON.parse(text) as JsonObject;
  }
  return {
    texts,
    records,
    [Symbol.asyncIterator]: records,
    toFile: (output, options = {}) => {
      const world = library.of(signal);
      return runOf(world, async (begun) => {
        if (options.resume) library.needRuns();
        return job({ ...options, output: output === '-' ? './-' : output }, world, { begun });
      });
    },
  };
}

/** An output whose pages a program reads, each before the next one is asked for. */
class PageChannel implements Output {
  readonly name = 'the reader';
  readonly rewindable = false;
  readonly warnings: readonly string[] = [];
  readonly #pages: Handover<RecordPage>;
  #bytes = 0;
  #records = 0;

  constructor(pages: Handover<RecordPage>) {
    this.#pages = pages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async writePage(page: RecordPage): Promise<void> {
    await this.#pages.put(page);
    this.#records += page.count;
    for (let record = 0; record < page.count; record += 1) {
      this.#bytes += page.bounds[2 * record + 1]! - page.bounds[2 * record]!;
    }
  }

  checkpoint(): Checkpoint {
    return { bytes: this.#bytes, crc: 0, records: this.#records };
  }

  rewind(): Promise<void> {
    throw new Error('what was read cannot be taken back');
  }

  seal(): Promise<FileMark> {
    return Promise.resolve(this.checkpoint());
  }

  async sync(): Promise<void> {}
  async publish(): Promise<void> {}
  async abort(): Promise<void> {}
}

/** The texts of the records of pages. */
async function* textsOf(pages: AsyncIterable<RecordPage>): AsyncGenerator<string> {
  for await (const { bytes, bounds, count } of pages) {
    for (let record = 0; record < count; record += 1) {
      yield bytes.toString('utf8', bounds[2 * record], bounds[2 * record + 1]);
    }
  }
}

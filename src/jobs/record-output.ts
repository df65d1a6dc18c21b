import { openOutput, prepareOutputs } from '../output/document-output.js';
import { RecordWriter } from '../output/record-writer.js';
import { isStdout } from '../output/formats.js';
import { outputOf } from './output-options.js';
import { openStdout } from '../output/sink.js';
import type { FileOptions } from './job-options.js';
import type { World } from './job-context.js';

export { prettyJson } from '../text/raw-json.js';

/** Where records go, one at a time. Who opens, finishes or aborts. */
export interface RecordSink {
  readonly bytes: number;
  readonly warnings: readonly string[];
  /** Takes the text of one JSON object; undefined adds nothing. */
  write(record: Buffer | undefined): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}

/** Bytes written to a file at a time; on stdout each record appears at once. */
const pageBytes = 256 * 1024;

/** Written as by the exports. Throws E-FILE-WRITE, E-OUTPUT-EXISTS, E-PARTIAL-EXISTS. */
export async function openRecordSink(
  name: string | undefined,
  how: FileOptions,
  { runtime, words }: Pick<World, 'runtime' | 'words'>,
): Promise<RecordSink> {
  const options = outputOf(name, how, words.option);
  await prepareOutputs([options], runtime, { ownPartials: false });
  const output = await openOutput(options, runtime);
  const writer = new RecordWriter(output, isStdout(name) ? 1 : pageBytes);
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

/** Writes lines to stdout, at the pace of its reader. A reader that left is E-STDOUT-CLOSED. */
export function openLines(
  runtime: Pick<World['runtime'], 'stdout'>,
  { option }: World['words'],
): (lines: string) => Promise<void> {
  const { file } = openStdout(runtime.stdout, option);
  return (lines) => file.write(Buffer.from(lines));
}

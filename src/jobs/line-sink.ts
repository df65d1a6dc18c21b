import { openOutput, prepareOutputs } from '../output/open-output.js';
import { RecordWriter } from '../output/record-writer.js';
import { isStdout } from '../output/formats.js';
import type { FileOptions } from './job-options.js';
import { outputOf } from './output-of.js';
import type { LineSink } from './verify-job.js';
import type { World } from './world.js';

/** Bytes written to a file at a time; on stdout each line appears at once. */
const pageBytes = 64 * 1024;

/** NDJSON on stdout, or in a file that appears when it is whole. Throws E-OUTPUT-EXISTS, E-FILE-WRITE. */
export async function openLineSink(
  name: string | undefined,
  { overwrite }: Pick<FileOptions, 'overwrite'>,
  { runtime, words }: Pick<World, 'runtime' | 'words'>,
): Promise<LineSink> {
  const how = { format: 'ndjson', ...(overwrite && { overwrite }) } as const;
  const options = outputOf(name, how, words.option);
  await prepareOutputs([options], runtime, { ownPartials: false });
  const output = await openOutput(options, runtime);
  const writer = new RecordWriter(output, isStdout(name) ? 1 : pageBytes);
  return {
    write: (line) => writer.write(line),
    finish: async () => {
      await writer.flush();
      await output.seal();
      await output.publish();
    },
    abort: () => output.abort(),
  };
}

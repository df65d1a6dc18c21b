import { openOutput, prepareOutputs } from '../output/open-output.js';
import { prettyJson } from '../output/pretty-json.js';
import { RecordWriter } from '../output/record-writer.js';
import { isStdout } from '../output/target.js';
import type { OutputStream, Runtime } from '../runtime.js';
import { inertJsonText } from '../ui/inert.js';
import { outputOf, type OutputFlags } from './output-options.js';

/** Where profiles go, one at a time. Who opens, finishes or aborts. */
export interface ProfileSink {
  readonly bytes: number;
  readonly warnings: readonly string[];
  /** Takes the text of one JSON object. Throws E-FILE-WRITE or E-STDOUT-CLOSED. */
  write(record: Buffer): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}

/** Bytes written to a file at a time; on stdout each profile appears at once. */
const pageBytes = 256 * 1024;

/** A single profile on a terminal is indented, all else is written as by the exports. */
export async function openProfileSink(
  flags: OutputFlags,
  { single }: { readonly single: boolean },
  runtime: Pick<Runtime, 'stdout' | 'cwd' | 'env' | 'token'>,
): Promise<ProfileSink> {
  const onStdout = isStdout(flags.output);
  if (single && onStdout && flags.format === undefined && runtime.stdout.isTTY === true) {
    return terminalSink(runtime.stdout);
  }
  const options = outputOf(flags.output, flags);
  await prepareOutputs([options], runtime, { ownPartials: false });
  const output = await openOutput(options, runtime);
  const writer = new RecordWriter(output, onStdout ? 1 : pageBytes);
  return {
    get bytes() {
      return output.bytes;
    },
    get warnings() {
      return output.warnings;
    },
    write: (record) => writer.write(record),
    finish: async () => {
      await writer.flush();
      await output.seal();
      await output.publish();
    },
    abort: () => output.abort(),
  };
}

function terminalSink(stdout: OutputStream): ProfileSink {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    warnings: [],
    write: (record) => {
      const text = `${inertJsonText(prettyJson(record))}\n`;
      bytes += Buffer.byteLength(text);
      stdout.write(text);
      return Promise.resolve();
    },
    finish: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
}

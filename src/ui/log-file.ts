import path from 'node:path';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { EngagectlError } from '../errors.js';
import { noFollow, writeAll } from '../files/atomic-write.js';
import { refuseOtherOwner, type TrustRuntime } from '../files/ownership.js';
import { unwritablePathError } from '../files/file-errors.js';
import { refuseForeignLink, refuseReplacedFiles } from '../files/path-checks.js';
import { secretFilesIn, withoutTypedSecrets, withoutUrlSecrets } from '../redact.js';
import { version } from '../version.js';
import { sanitize, sanitizedJson } from './sanitize.js';
import { rawFlagValue } from './display-settings.js';
import type { LogEntry, Runtime } from '../runtime.js';

/** O_NONBLOCK: opening a FIFO without a reader fails immediately instead of waiting. */
const shared = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** Links below /dev lead to standard streams, and only root can plant others, except in /dev/shm. */
const ofDevices = /^\/dev\/(?!shm\/)/;

/**
 * Adds the log file of `--log-file` to a runtime: it receives all messages, even with `--quiet`, and a
 * line per request. Throws E-FILE-WRITE if it cannot be written, E-OUTPUT-EXISTS if it contains records,
 * E-USAGE for an input, E-CONFIG-FILE if another user owns it.
 */
export function withLogFile(argv: readonly string[], runtime: Runtime): Runtime {
  const name = rawFlagValue(argv, '--log-file');
  if (name === undefined || name === '') return runtime; // commander rejects an empty name
  const file = path.resolve(runtime.cwd, name);
  refuseInputs(argv, name, runtime);
  refuseUnwritable(name, file, runtime);
  refuseRecords(name, file);
  const removed = runtime.redact ?? ((text: string) => text);
  const asJson = rawFlagValue(argv, '--log-format') === 'json';
  const log = (entry: LogEntry): void => {
    const time = new Date(runtime.now()).toISOString();
    const lines = withoutUrlSecrets(
      removed(asJson ? jsonLine(entry, time) : textLines(entry, time)),
    );
    try {
      append(file, lines, runtime);
    } catch {
      // The same message is on stderr, and the run's own files report a full disk.
    }
  };
  const command = withoutTypedSecrets(argv).join(' ');
  const { nodeVersion: node, platform } = runtime;
  const text = `engagectl ${version}, Node ${node}, ${platform}: engagectl ${command}`;
  log({ type: 'begin', text, about: { version, node, platform, command } });
  return Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(runtime),
      log: { value: log, enumerable: true },
    },
  ) as Runtime;
}

/** Opens the file for each write, so that it can be rotated while the program runs. */
function append(file: string, lines: string, runtime: TrustRuntime): void {
  const isDevice = ofDevices.test(file);
  const open = openSync(file, isDevice ? shared : shared | noFollow, 0o600);
  try {
    // Checked on each write: another user may have created a file with this name.
    if (!isDevice) {
      refuseOtherOwner(file, fstatSync(open), {
        runtime,
        why: 'its owner could read the log',
        fix: 'name another file with --log-file <file>',
      });
    }
    writeAll(open, lines);
  } finally {
    closeSync(open);
  }
}

/** Options whose files are written. */
const written = /^(?:-o|--(?:gone|junit|log-file|output|record|rejects|report|write-mapping))$/;

/** Refuses a file that the command line names elsewhere, or standard input, before a line is added to it. */
function refuseInputs(
  argv: readonly string[],
  name: string,
  { cwd, env }: Pick<Runtime, 'cwd' | 'env'>,
): void {
  const isRead = (word: string, at: number) =>
    at > 0 && !word.startsWith('-') && !written.test(argv[at - 1]!);
  const read = ['-', ...argv.filter(isRead), ...secretFilesIn(env)];
  refuseReplacedFiles([['--log-file', name]], read, cwd);
}

function refuseUnwritable(name: string, file: string, runtime: TrustRuntime): void {
  const place = { name, what: 'the log file', option: '--log-file <file>' };
  try {
    refuseForeignLink(file, place, runtime);
    append(file, '', runtime);
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    throw unwritablePathError(file, place, error);
  }
}

const ofRecords = /\.(?:csv|tsv|ndjson|jsonl|json|gz)$/i;
const beginningOfLog = /^(?:\d{4}-\d\d-\d\dT|\{"time":")/;

/** Prevents writing into the input if the name of the log is missing: `--log-file users.csv`. */
function refuseRecords(name: string, file: string): void {
  if (!ofRecords.test(name)) return;
  const beginning = Buffer.alloc(16);
  const open = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  let length: number;
  try {
    length = readSync(open, beginning);
  } finally {
    closeSync(open);
  }
  if (length === 0 || beginningOfLog.test(beginning.toString('latin1', 0, length))) return;
  throw new EngagectlError('E-OUTPUT-EXISTS', `${name} exists and is not a log of engagectl`, {
    why: 'lines of the log would be added to it',
    fix: 'name the log after --log-file, like --log-file engagectl.log',
    file: name,
  });
}

const jsonLine = ({ type, text, about }: LogEntry, time: string): string =>
  `${sanitizedJson({ time, type, ...(about ?? { message: text }) })}\n`;

/** One line per message, each with its time and type. */
const textLines = ({ type, text }: LogEntry, time: string): string =>
  sanitize(text)
    .trimEnd()
    .split('\n')
    .map((line) => `${time} ${type.padEnd(8)} ${line}\n`)
    .join('');

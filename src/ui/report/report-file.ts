import { access, constants, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { EngagectlError, mostSerious, type ExitCode } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { Messages } from '../messages.js';
import type { RunReport } from './run-report.js';

type EndedRun = Omit<RunReport, 'ended'>;

/** The page of `--report`, written at the end of a run. */
export class Report {
  readonly #name: string;
  readonly #file: string;
  readonly #runtime: Runtime;

  constructor(name: string, runtime: Runtime) {
    this.#name = name;
    this.#file = path.resolve(runtime.cwd, name);
    this.#runtime = runtime;
  }

  /**
   * Writes the page. Returns E-FILE-WRITE when that fails and is more serious than what the run
   * ends with; else that is a warning.
   */
  async write(run: EndedRun, said: Messages): Promise<EngagectlError | undefined> {
    const failure = await this.#write(run);
    if (failure === undefined) return undefined;
    const codes = [run.summary.exitCode, failure.exitCode] as ExitCode[];
    if (mostSerious(codes) === failure.exitCode) return failure;
    said.warn(failure.message);
    return undefined;
  }

  async #write(run: EndedRun): Promise<EngagectlError | undefined> {
    const { reportPage } = await import('./report-page.js');
    const page = reportPage({ ...run, ended: this.#runtime.now() });
    const partial = `${this.#file}.${this.#runtime.token()}.partial`;
    try {
      // samples hold data of people
      await writeFile(partial, page, { mode: 0o600, flag: 'wx', flush: true });
      await rename(partial, this.#file);
      return undefined;
    } catch (cause) {
      await rm(partial, { force: true }).catch(() => undefined);
      return unwritable(this.#name, cause);
    }
  }
}

/**
 * The report that `--report` asks for. Refuses what stands in its way before the run begins: a
 * folder or another file of the run (E-USAGE), a file that is no report (E-OUTPUT-EXISTS), a place
 * where nothing can be written (E-FILE-WRITE).
 */
export async function openReport(
  name: string | undefined,
  { others }: { readonly others: readonly (string | undefined)[] },
  runtime: Runtime,
): Promise<Report | undefined> {
  if (name === undefined) return undefined;
  const file = path.resolve(runtime.cwd, name);
  if (others.some((other) => other !== undefined && path.resolve(runtime.cwd, other) === file)) {
    throw otherFile(name);
  }
  await refuseOtherContent(name, file);
  await access(path.dirname(file), constants.W_OK).catch((cause: unknown) => {
    throw unwritable(name, cause);
  });
  return new Report(name, runtime);
}

/** An earlier report is replaced; anything else stays. */
async function refuseOtherContent(name: string, file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return;
  if (!found.isFile()) {
    throw new EngagectlError('E-USAGE', `the report cannot be written to ${name}`, {
      why: found.isDirectory() ? 'it is a folder' : 'it is no regular file',
      fix: 'name a file, like --report run.html',
      file: name,
    });
  }
  const { generatorTag } = await import('./report-page.js');
  if (found.size === 0 || (await beginningOf(file)).includes(generatorTag)) return;
  throw new EngagectlError('E-OUTPUT-EXISTS', `${name} exists, and is no report of engagectl`, {
    why: 'the report would take its place',
    fix: 'name another file with --report, or move that one away',
    file: name,
  });
}

/** As much as holds the head of a report. */
async function beginningOf(file: string): Promise<string> {
  const handle = await open(file).catch(() => undefined);
  try {
    const { buffer, bytesRead } = (await handle?.read(Buffer.alloc(2048))) ?? { bytesRead: 0 };
    return buffer?.toString('latin1', 0, bytesRead) ?? '';
  } finally {
    await handle?.close();
  }
}

const otherFile = (name: string): EngagectlError =>
  new EngagectlError('E-USAGE', `${name} is another file of this run`, {
    why: 'the report would take its place',
    fix: 'name another file with --report',
  });

const unwritable = (name: string, cause: unknown): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `the report ${name} could not be written`, {
    why: cause instanceof Error ? cause.message : String(cause),
    fix: 'make room, or name another place with --report',
    file: name,
    cause,
  });

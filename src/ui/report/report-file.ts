import path from 'node:path';
import { open, stat } from 'node:fs/promises';
import { EngagectlError, mostSerious, type ExitCode } from '../../errors.js';
import { replaceFile, setAside } from '../../files/atomic-write.js';
import { unwritablePathError } from '../../files/file-errors.js';
import { checkWritablePath } from '../../files/path-checks.js';
import type { Runtime } from '../../runtime.js';
import type { Messages } from '../messages.js';
import type { RunReport } from '../summary.js';

/**
 * Writes the report of `--report` at the end of a run. If that fails, returns E-FILE-WRITE if it is more
 * serious than the run's own error; otherwise prints a warning.
 */
export type WriteReport = (
  run: Omit<RunReport, 'ended' | 'program'>,
  messages: Messages,
) => Promise<EngagectlError | undefined>;

/**
 * Creates the writer of the report. Before the run, refuses a directory (E-USAGE), an existing file that is
 * not a report (E-OUTPUT-EXISTS), and a path that cannot be written (E-FILE-WRITE).
 */
export async function openReport(
  name: string | undefined,
  runtime: Runtime,
): Promise<WriteReport | undefined> {
  if (name === undefined) return undefined;
  const [{ runPage }, write] = await Promise.all([
    import('./run-page.js'),
    openReportFile(name, runtime),
  ]);
  return async (run, messages) => {
    const page = runPage({ ...run, ended: runtime.now(), program: runtime.program });
    return write(page, run.summary.exitCode, messages);
  };
}

type WritePage = (
  page: string,
  exitCode: ExitCode,
  messages: Messages,
) => Promise<EngagectlError | undefined>;

/** Opens the file of any page built with `pageShell`. */
export async function openReportFile(name: string, runtime: Runtime): Promise<WritePage> {
  const file = path.resolve(runtime.cwd, name);
  const { generatorTag } = await import('./html.js');
  await refuseForeignFile(name, file, generatorTag);
  const place = { name, what: 'the report', option: '--report <file.html>' };
  checkWritablePath(file, place, runtime);
  return async (page, exitCode, messages) => {
    try {
      if (await isForeign(file, generatorTag)) {
        const aside = setAside(file);
        const renamed = aside && path.join(path.dirname(name), path.basename(aside));
        if (renamed) messages.warn(`${name} appeared during the run, and is ${renamed} now`);
      }
      replaceFile(file, runtime.redact?.(page) ?? page);
      return undefined;
    } catch (cause) {
      const failure = unwritablePathError(file, place, cause);
      const worst = mostSerious([exitCode, failure.exitCode]);
      if (worst === failure.exitCode) return failure;
      messages.warn(failure.message);
      return undefined;
    }
  };
}

/** Allows replacing an earlier report, nothing else. */
async function refuseForeignFile(name: string, file: string, tag: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return;
  if (!found.isFile()) {
    throw new EngagectlError('E-USAGE', `the report cannot be written to ${name}`, {
      why: found.isDirectory() ? 'it is a folder' : 'it is not a regular file',
      fix: 'name a file, like --report run.html',
      file: name,
    });
  }
  if (!(await isForeign(file, tag))) return;
  throw new EngagectlError('E-OUTPUT-EXISTS', `${name} exists and is not a report of engagectl`, {
    why: 'the report would take its place',
    fix: 'name another file with --report, or move that one away',
    file: name,
  });
}

/** Whether a file has anything but a report in it. */
async function isForeign(file: string, tag: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  return found !== undefined && found.size > 0 && !(await beginningOf(file)).includes(tag);
}

/** Reads enough to identify a report; empty if the file cannot be read. */
async function beginningOf(file: string): Promise<string> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return '';
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2048));
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

import { lintInitProperties, type InitFinding } from '../../calling/init-properties.js';
import { errorNumber } from '../../calling/errors.js';
import { EngagectlError, exitCodes, type ExitCode } from '../../errors.js';
import { readJsonFile } from '../input-files.js';
import type { Platform } from '../../calling/protocol.js';
import type { JobContext } from '../job-context.js';

/** A finding and the platforms it applies to. */
interface PlatformFinding extends InitFinding {
  readonly platforms: readonly Platform[];
  /** Error code of `initialize` by platform; null for a warning. */
  readonly errorCode: Readonly<Partial<Record<Platform, number>>> | null;
}

interface LintResult {
  readonly file: string;
  readonly platforms: readonly Platform[];
  readonly errors: number;
  readonly warnings: number;
  readonly findings: readonly PlatformFinding[];
  readonly exitCode: ExitCode;
  readonly error: EngagectlError | undefined;
}

/** Lints a file of initProperties. Throws E-FILE-READ, E-FORMAT. */
export async function lintInit(
  file: string,
  platforms: readonly Platform[],
  context: Pick<JobContext, 'runtime'>,
): Promise<LintResult> {
  const properties = await readJsonFile(file, context.runtime);
  const findings = merged(
    platforms.flatMap((platform) =>
      lintInitProperties(properties, platform).map((finding) => ({ finding, platform })),
    ),
  );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const error = errors > 0 ? wrong(file, errors) : undefined;
  return {
    file,
    platforms,
    errors,
    warnings: findings.length - errors,
    findings,
    exitCode: error?.exitCode ?? exitCodes.ok,
    error,
  };
}

interface Found {
  readonly finding: InitFinding;
  readonly platform: Platform;
}

/** Merges findings that are equal on both platforms. */
function merged(all: readonly Found[]): PlatformFinding[] {
  const findings = new Map<string, PlatformFinding>();
  for (const { finding, platform } of all) {
    const key = JSON.stringify(Object.values(finding));
    const same = findings.get(key) ?? { ...finding, platforms: [], errorCode: null };
    const { errorName: name, pointer } = finding;
    const code = name && { [platform]: errorNumber({ name, field: pointer.slice(1) }, platform) };
    findings.set(key, {
      ...same,
      platforms: [...same.platforms, platform],
      errorCode: code && { ...same.errorCode, ...code },
    });
  }
  return [...findings.values()];
}

const wrong = (file: string, errors: number): EngagectlError =>
  new EngagectlError('E-REJECTED', `${file}: ${errors} ${errors === 1 ? 'error' : 'errors'}`, {
    why: 'initialize would fail with the first of them on a device',
    fix: 'correct the value at each pointer',
    file,
  });

import path from 'node:path';
import { errorTable } from '../../calling/error-table.js';
import type { Platform } from '../../calling/protocol.js';
import type { InitFinding } from '../../calling/init-finding.js';
import { lintInitProperties } from '../../calling/lint-init-properties.js';
import { EngagectlError, exitCodes, type ExitCode } from '../../errors.js';
import { readText } from '../../files/read-text.js';
import { JsonText } from '../../mapping/json-text.js';
import type { World } from '../world.js';

/** A finding, and the platforms on which it is one. */
export interface PlatformFinding extends InitFinding {
  readonly platforms: readonly Platform[];
  /** What `initialize` answers there; null for a warning. */
  readonly errorCode: Readonly<Partial<Record<Platform, number>>> | null;
}

export interface LintResult {
  readonly file: string;
  readonly platforms: readonly Platform[];
  readonly errors: number;
  readonly warnings: number;
  readonly findings: readonly PlatformFinding[];
  readonly exitCode: ExitCode;
  readonly error: EngagectlError | undefined;
}

/** All that is to be said of a file of initProperties. Throws E-FILE-READ, E-FORMAT. */
export async function lintInit(
  file: string,
  platforms: readonly Platform[],
  world: Pick<World, 'runtime'>,
): Promise<LintResult> {
  const properties = parsed(await textOf(file, world), file);
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

async function textOf(file: string, { runtime: { cwd, signal } }: Pick<World, 'runtime'>) {
  return readText(path.resolve(cwd, file), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-FILE-READ', `${file} could not be read`, {
      why: (cause as NodeJS.ErrnoException).code ?? String(cause),
      fix: 'name a readable file',
      file,
      cause,
    });
  });
}

/** Not JSON.parse alone: it takes the last of two equal keys in silence, and its errors quote the file. */
function parsed(text: string, file: string): unknown {
  const bytes = Buffer.from(text.replace(/^\uFEFF/, ''));
  const json = new JsonText();
  if (json.read(bytes, 0, bytes.length)) return JSON.parse(bytes.toString());
  const before = bytes.toString('utf8', 0, json.faultAt).split('\n');
  const [line, column] = [before.length, Buffer.byteLength(before.at(-1)!) + 1];
  throw new EngagectlError('E-FORMAT', `${file}:${line}:${column}: JSON ${json.fault}`, {
    why: 'the file has to be one JSON object: that which the app gives to initialize',
    fix: 'correct it there',
    file,
    line,
    column,
  });
}

interface Found {
  readonly finding: InitFinding;
  readonly platform: Platform;
}

/** What is the same on both platforms is told once. */
function merged(all: readonly Found[]): PlatformFinding[] {
  const findings = new Map<string, PlatformFinding>();
  for (const { finding, platform } of all) {
    const key = JSON.stringify(Object.values(finding));
    const same = findings.get(key) ?? { ...finding, platforms: [], errorCode: null };
    const code = codeOf(finding, platform);
    findings.set(key, {
      ...same,
      platforms: [...same.platforms, platform],
      errorCode: code === undefined ? null : { ...same.errorCode, [platform]: code },
    });
  }
  return [...findings.values()];
}

function codeOf({ errorName, pointer }: InitFinding, platform: Platform): number | undefined {
  if (errorName === null) return undefined;
  const code = errorTable[errorName][platform];
  if (typeof code === 'number') return code;
  return typeof code === 'object' ? code[pointer.slice(1) as keyof typeof code] : undefined;
}

const wrong = (file: string, errors: number): EngagectlError =>
  new EngagectlError('E-REJECTED', `${file}: ${errors} ${errors === 1 ? 'error' : 'errors'}`, {
    why: 'initialize would answer the first of them on a device',
    fix: 'correct what stands at each pointer',
    file,
  });

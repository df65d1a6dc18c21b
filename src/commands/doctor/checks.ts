import path from 'node:path';
import { withProgramName, shellPath } from '../../wording.js';
import {
  EngagectlError,
  countOf,
  errorIds,
  exitCodes,
  mostSerious,
  type ErrorId,
} from '../../errors.js';
import { formatBytes } from '../../ui/format.js';
import { maskError, maskPersonalData } from '../../ui/mask.js';
import { sanitize, jsonAnswer } from '../../ui/sanitize.js';
import { eventMemorySizes } from '../../jobs/write/open-event-memory.js';
import { resolveAccount, type Account } from '../../config/account.js';
import {
  checkCertificate,
  libraryVersions,
  checkDns,
  checkProxy,
  type DoctorWarning,
} from '../../jobs/doctor/network-checks.js';
import { version } from '../../version.js';
import { constants } from 'node:fs';
import { access, stat, unlink, writeFile } from 'node:fs/promises';
import { runsFolder, stateDirectory } from '../../config/directories.js';
import { configPath, readConfig } from '../../config/config-file.js';
import { tryLock } from '../../jobs/run/run-folder.js';
import { checkAccess } from '../shared/connect.js';
import type { Runtime } from '../../runtime.js';
import type { GlobalOptions } from '../shared/global-options.js';

/**
 * `doctor`: prints a line per check on stdout; with `--json`, one object. `--quiet` omits successful
 * checks. Throws the most serious failure.
 */
export async function runDoctor(settings: GlobalOptions, runtime: Runtime): Promise<void> {
  const { json, quiet } = settings;
  const { stdout } = runtime;
  const checks: Finding[] = [];
  for await (const { fix, ...found } of runChecks(settings, runtime)) {
    const finding = { ...found, fix: fix && withProgramName(fix, runtime.program) };
    checks.push(finding);
    if (!json && !(quiet && finding.status === 'ok')) stdout.write(sanitize(lineOf(finding)));
  }
  const failed = checks.filter(({ status }) => status === 'failed');
  const exitCode = mostSerious(failed.map(({ id = 'E-CONFIG' }) => errorIds[id]));
  if (json) {
    const findings = checks.map(({ id: _, ...finding }) => finding);
    const ok = exitCode === exitCodes.ok;
    stdout.write(jsonAnswer({ ok, exitCode, checks: findings }));
  }
  const worst = failed.find(({ id = 'E-CONFIG' }) => errorIds[id] === exitCode);
  if (worst === undefined) return;
  const names = failed.map(({ check }) => check).join(', ');
  throw new EngagectlError(
    worst.id ?? 'E-CONFIG',
    `${failed.length} of ${checks.length} checks failed: ${names}`,
    {
      why: worst.message,
      fix: worst.fix,
    },
  );
}

function lineOf({ check, status, message, fix }: Finding): string {
  const line = `${status.padEnd(9)}${check.padEnd(9)}${message}\n`;
  return fix === undefined ? line : `${line}${' '.repeat(18)}fix: ${fix}\n`;
}

/** Result of one check. */
interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  /** Suggested fix; undefined if the check succeeded. */
  readonly fix?: string | undefined;
  /** Error id of a failure; decides the exit code. */
  readonly id?: ErrorId;
}

/** A check returns a success or a warning; a thrown error is a failure. */
type Check<Of> = (of: Of) => Promise<string | DoctorWarning> | string | DoctorWarning;

interface Machine {
  readonly settings: GlobalOptions;
  readonly runtime: Runtime;
  account?: Account;
}

interface Service extends Machine {
  readonly account: Account;
  readonly url: URL;
  /** `Date` header of the response. */
  date?: string | undefined;
}

const machineChecks: Readonly<Record<string, Check<Machine>>> = {
  node: async ({ runtime: { nodeVersion, platform } }) => {
    const { undici, libsql, sqlite } = await libraryVersions();
    const store = sqlite === null ? 'no libsql' : `libsql ${libsql} (SQLite ${sqlite})`;
    return `${nodeVersion}, ${platform}, engagectl ${version}, undici ${undici}, ${store}`;
  },
  config: async ({ runtime }) => checkConfigFile(runtime),
  state: async ({ runtime }) => checkStateDirectory(runtime),
  lock: async ({ runtime }) => checkRunLock(runtime),
  events: ({ runtime }) => describeEventMemory(runtime),
  account: async (machine) => {
    machine.account = await resolveAccount(machine.settings, machine.runtime);
    const { accountId, region, sources } = machine.account;
    return `${accountId}, region ${region}; passcode from ${sources.passcode}`;
  },
};

const accountChecks: Readonly<Record<string, Check<Service>>> = {
  proxy: ({ url, runtime }) => checkProxy(url, runtime),
  name: async ({ url, runtime }) => checkDns(url, runtime),
  tls: async ({ url, runtime }) => checkCertificate(url, runtime),
  request: async (service) => {
    const { account, settings, runtime } = service;
    const answer = await checkAccountOnce(account, settings, runtime);
    service.date = answer.date;
    return answer.message;
  },
  clock: ({ date, runtime }) => checkClockSkew(date, runtime),
};

/** Runs the checks one after the other; those of the service only if there is an account. */
async function* runChecks(settings: GlobalOptions, runtime: Runtime): AsyncGenerator<Finding> {
  const machine: Machine = { settings, runtime };
  yield* findings(machineChecks, machine);
  const { account } = machine;
  if (account)
    yield* findings(accountChecks, { ...machine, account, url: new URL(account.baseUrl) });
}

/** Yields what the checks found, with personal data masked: the service may quote it. */
async function* findings<Of extends Machine>(
  checks: Readonly<Record<string, Check<Of>>>,
  of: Of,
): AsyncGenerator<Finding> {
  const brief = (text: string) => maskPersonalData(text, of.settings);
  for (const [check, look] of Object.entries(checks)) {
    try {
      const seen = await look(of);
      if (typeof seen === 'string') yield { check, status: 'ok', message: brief(seen) };
      else yield { check, status: 'warning', message: brief(seen.warning), fix: seen.fix };
    } catch (thrown) {
      const error = maskError(thrown, of.settings);
      if (!(error instanceof EngagectlError)) throw error;
      const { why, fix } = error.details;
      const message = why === undefined ? error.message : `${error.message}: ${why}`;
      yield { check, status: 'failed', message, fix, id: error.id };
    }
  }
}

/** Checks that the config file is valid and private. */
async function checkConfigFile(runtime: Runtime): Promise<string> {
  const { profiles } = await readConfig(runtime);
  const names = Object.keys(profiles);
  const what = names.length === 0 ? 'no profile saved' : `profiles ${names.join(', ')}`;
  return `${configPath(runtime)}: ${what}`;
}

/** Checks the directory of journals: writes need it; exports work without it, but cannot be resumed. */
async function checkStateDirectory(runtime: Runtime): Promise<string | DoctorWarning> {
  const folder = stateDirectory(runtime);
  try {
    runsFolder(runtime);
    const there = await nearest(folder);
    if (there !== folder) {
      await access(there, constants.W_OK);
      return `${folder}: will be created in ${there}`;
    }
    const probe = path.join(folder, `.doctor-${runtime.token()}`);
    await writeFile(probe, '', { flag: 'wx', mode: 0o600 });
    await unlink(probe);
    const { mode } = await stat(folder);
    if (runtime.platform === 'win32' || (mode & 0o077) === 0) return `${folder}: can be written`;
    const fix = `chmod 700 ${shellPath(folder)}`;
    return { warning: `${folder}: others may look into it`, fix };
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    throw new EngagectlError('E-FILE-WRITE', `${folder} cannot be written`, {
      why: (error as Error).message,
      fix: 'make it writable, name another in ENGAGECTL_STATE_DIR, or write with --no-journal',
      file: folder,
      cause: error,
    });
  }
}

/** Returns the directory, or its closest existing ancestor. */
async function nearest(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (error) {
    const parent = path.dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === folder) throw error;
    return nearest(parent);
  }
}

/** Checks the lock that keeps two processes from working on one run. */
async function checkRunLock(runtime: Runtime): Promise<string> {
  try {
    await tryLock(await nearest(stateDirectory(runtime)), runtime);
    return 'file locking works';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === 'open')
      return 'not tried: no file can be made';
    if (error instanceof EngagectlError) throw error;
    throw new EngagectlError('E-FILE-WRITE', 'file locking does not work', {
      why: (error as Error).message,
      fix: 'keep the state directory where files can be locked (ENGAGECTL_STATE_DIR), or write with --no-journal',
      cause: error,
    });
  }
}

/** Reports the size of the event memory, which `runs prune` limits. */
function describeEventMemory(runtime: Runtime): string {
  const sizes = eventMemorySizes(runsFolder(runtime));
  if (sizes.length === 0) return 'no sent events are remembered';
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return `sent events of ${countOf(sizes.length, 'account')} are remembered in ${formatBytes(bytes)}`;
}

interface Answer {
  readonly message: string;
  /** `Date` header of the response. */
  readonly date: string | undefined;
}

/** Sends one authenticated read-only request. Throws E-CREDENTIALS, E-UNAVAILABLE or E-ANSWER. */
async function checkAccountOnce(
  account: Account,
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<Answer> {
  let date: string | undefined;
  const started = runtime.monotonic();
  const { status, request, error } = await checkAccess(account, settings, runtime, (headers) => {
    date = headers['date']?.toString();
  });
  const milliseconds = Math.round(runtime.monotonic() - started);
  if (!error) return { message: `${request}: accepted (${milliseconds} ms)`, date };
  if (status !== 'refused') throw error;
  throw new EngagectlError('E-CREDENTIALS', error.message, {
    ...error.details,
    fix: 'engagectl config check tries the other regions, and says what to type',
  });
}

/** Beyond this clock skew, relative dates and times computed here are wrong. */
const skewMs = 60_000;

/** Compares this machine's clock with the service's. */
function checkClockSkew(
  date: string | undefined,
  { now }: Pick<Runtime, 'now'>,
): string | DoctorWarning {
  const there = Date.parse(date ?? '');
  if (Number.isNaN(there)) return 'not compared: no answer said what time it is';
  const seconds = Math.round((now() - there) / 1000);
  if (Math.abs(seconds) * 1000 <= skewMs) return `within ${skewMs / 1000} s of the service's`;
  const side = seconds > 0 ? 'ahead of' : 'behind';
  return {
    warning: `${Math.abs(seconds)} s ${side} the service's`,
    fix: 'set the clock (timedatectl set-ntp true): relative dates and --ts now depend on it',
  };
}

import { asCalled } from '../../wording.js';
import { EngagectlError, errorIds, exitCodes, mostSerious, type ErrorId } from '../../errors.js';
import { inert, jsonAnswer } from '../../ui/sanitize.js';
import { resolveAccount, type Account } from '../../config/account.js';
import {
  checkCertificate,
  libraryVersions,
  checkName,
  checkProxy,
  type Warning,
} from '../../jobs/doctor/checks.js';
import { version } from '../../version.js';
import { checkConfig, checkLock, checkState } from './checks.js';
import { askOnce, checkClock } from './request.js';
import type { Runtime } from '../../runtime.js';
import type { Settings } from '../shared/global-options.js';

/**
 * `doctor`: a line for each check as it is made, on stdout; with `--json` one object. `--quiet`
 * leaves out what is well. Throws the most serious of what failed.
 */
export async function runDoctor(settings: Settings, runtime: Runtime): Promise<void> {
  const { json, quiet } = settings;
  const { stdout } = runtime;
  const checks: Finding[] = [];
  for await (const { fix, ...found } of examine(settings, runtime)) {
    const finding = { ...found, fix: fix && asCalled(fix, runtime.program) };
    checks.push(finding);
    if (!json && !(quiet && finding.status === 'ok')) stdout.write(inert(lineOf(finding)));
  }
  const failed = checks.filter(({ status }) => status === 'failed');
  const exitCode = mostSerious(failed.map(({ id = 'E-CONFIG' }) => errorIds[id]));
  if (json) {
    const shown = checks.map(({ id: _, ...finding }) => finding);
    const ok = exitCode === exitCodes.ok;
    stdout.write(jsonAnswer({ ok, exitCode, checks: shown }));
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

/** What one check came to. */
interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  /** What to do about it; undefined when it is ok. */
  readonly fix?: string | undefined;
  /** Of what failed: it decides the exit code. */
  readonly id?: ErrorId;
}

/** What a check returns is well, or a warning; when it throws, it has failed. */
type Check<Of> = (of: Of) => Promise<string | Warning> | string | Warning;

interface Machine {
  readonly settings: Settings;
  readonly runtime: Runtime;
  account?: Account;
}

interface Service extends Machine {
  readonly account: Account;
  readonly url: URL;
  /** The header `Date` of its answer. */
  date?: string | undefined;
}

const ofMachine: Readonly<Record<string, Check<Machine>>> = {
  node: async ({ runtime: { nodeVersion, platform } }) => {
    const { undici, libsql, sqlite } = await libraryVersions();
    const store = sqlite === null ? 'no libsql' : `libsql ${libsql} (SQLite ${sqlite})`;
    return `${nodeVersion}, ${platform}, engagectl ${version}, undici ${undici}, ${store}`;
  },
  config: async ({ runtime }) => checkConfig(runtime),
  state: async ({ runtime }) => checkState(runtime),
  lock: async ({ runtime }) => checkLock(runtime),
  account: async (machine) => {
    machine.account = await resolveAccount(machine.settings, machine.runtime);
    const { accountId, region, sources } = machine.account;
    return `${accountId}, region ${region}; passcode from ${sources.passcode}`;
  },
};

const ofService: Readonly<Record<string, Check<Service>>> = {
  proxy: ({ url, runtime }) => checkProxy(url, runtime),
  name: async ({ url, runtime }) => checkName(url, runtime),
  tls: async ({ url, runtime }) => checkCertificate(url, runtime),
  request: async (service) => {
    const { account, settings, runtime } = service;
    const answer = await askOnce(account, settings, runtime);
    service.date = answer.date;
    return answer.message;
  },
  clock: ({ date, runtime }) => checkClock(date, runtime),
};

/** The checks, one after the other: those about the service only when there is an account. */
async function* examine(settings: Settings, runtime: Runtime): AsyncGenerator<Finding> {
  const machine: Machine = { settings, runtime };
  yield* findings(ofMachine, machine);
  const { account } = machine;
  if (account) yield* findings(ofService, { ...machine, account, url: new URL(account.baseUrl) });
}

async function* findings<Of>(
  checks: Readonly<Record<string, Check<Of>>>,
  of: Of,
): AsyncGenerator<Finding> {
  for (const [check, look] of Object.entries(checks)) {
    try {
      const seen = await look(of);
      if (typeof seen === 'string') yield { check, status: 'ok', message: seen };
      else yield { check, status: 'warning', message: seen.warning, fix: seen.fix };
    } catch (error) {
      if (!(error instanceof EngagectlError)) throw error;
      const { why, fix } = error.details;
      const message = why === undefined ? error.message : `${error.message}: ${why}`;
      yield { check, status: 'failed', message, fix, id: error.id };
    }
  }
}

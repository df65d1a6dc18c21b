import { asCalled } from '../../as-called.js';
import { EngagectlError, errorIds, exitCodes, mostSerious } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import { inert, jsonAnswer } from '../../ui/inert.js';
import type { Settings } from '../settings.js';
import { examine, type Finding } from './examine.js';

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

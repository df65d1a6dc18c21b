import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { certificate, hasOpenssl } from '../support/certificate.js';
import { startService, type FaultRuleInput } from '../../src/testing.js';
import {
  makeWorld,
  type Outcome,
  type World,
  type WorldOptions,
} from '../support/test-environment.js';
import { BinProcess } from '../support/processes/bin-process.js';

// `doctor`: one fault at a time, and what its line, its fix and the exit code say.

const secret = 'doctor-pass-8Yq';
const found = '{"status":"success","record":{}}';
const checks = [
  'node',
  'config',
  'state',
  'lock',
  'events',
  'account',
  'proxy',
  'name',
  'tls',
  'request',
];

let world: World;
beforeEach(() => {
  world = makeWorld();
});

const account = (url: string) => accountAt(url, secret, 'ACC-1');

async function start() {
  const service = await startService({ accountId: 'ACC-1', passcode: secret });
  onTestFinished(() => service.close());
  return service;
}

async function doctor(fault?: FaultRuleInput, options: WorldOptions = {}) {
  const service = await start();
  if (fault) await service.fault(fault);
  return doctorAt(service.url, options);
}

async function doctorAt(url: string, options: WorldOptions = {}, args: string[] = []) {
  const env = { ...account(url), ...options.env };
  const outcome = await world.run(['doctor', ...args], { ...options, env });
  expect(outcome.stdout + outcome.stderr).not.toContain(secret);
  return outcome;
}

/** Name and status of each line, and the line with the fix below it. */
function linesOf({ stdout }: Outcome): Record<string, string> {
  const lines = stdout.matchAll(/^(ok|warning|failed) +(\w+) +(.*(?:\n {18}fix: .*)?)$/gm);
  return Object.fromEntries(
    [...lines].map(([, status, name, rest]) => [name, `${status}: ${rest}`]),
  );
}

describe('D without problems', () => {
  it('every line is ok, and the exit code is 0', async () => {
    const outcome = await doctor();
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    const lines = linesOf(outcome);
    expect(Object.keys(lines)).toEqual([...checks, 'clock']);
    for (const line of Object.values(lines)) expect(line).toMatch(/^ok: /);
    expect(lines['account']).toContain('ACC-1');
    expect(lines['account']).toContain('passcode from ENGAGECTL_PASSCODE');
  });

  it('--json prints the same in one object, --quiet nothing', async () => {
    const { url } = await start();
    const { code, stdout } = await doctorAt(url, {}, ['--json']);
    const report = JSON.parse(stdout) as { checks: { check: string; status: string }[] };
    expect(code).toBe(0);
    expect(report).toMatchObject({ schemaVersion: 1, ok: true, exitCode: 0 });
    expect(report.checks.map(({ check }) => check)).toEqual([...checks, 'clock']);
    const quiet = await doctorAt(url, {}, ['--quiet']);
    expect(quiet).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('it works for the embedded service', async () => {
    const outcome = await world.run(['doctor', '--region', 'local']);
    expect(outcome.code).toBe(0);
    expect(linesOf(outcome)['request']).toContain('accepted');
  });

  it('no files are left', async () => {
    await doctor();
    expect(() => chmodSync(world.stateDir, 0o700)).toThrow('ENOENT');
  });

  it('a lock is tested where the state directory will be created, and removed', async () => {
    const env = { ENGAGECTL_STATE_DIR: path.join(world.cwd, 'not', 'yet') };
    expect(linesOf(await doctor(undefined, { env }))['lock']).toBe('ok: file locking works');
    expect(readdirSync(world.cwd)).toEqual([]);
  });
});

describe('configuration', () => {
  it('a config file that others can read is exit 2, with the chmod to type', async () => {
    mkdirSync(world.configDir, { mode: 0o700 });
    const file = path.join(world.configDir, 'config.json');
    writeFileSync(file, '{"profiles":{}}', { mode: 0o644 });
    const outcome = await doctor();
    expect(outcome.code).toBe(2);
    expect(linesOf(outcome)['config']).toMatch(/^failed: .*0644.*\n +fix: chmod 600 /);
    expect(linesOf(outcome)['request']).toMatch(/^ok/);
    expect(outcome.stderr).toContain('1 of 11 checks failed: config');
  });

  it('a missing account is exit 2, and no service is asked', async () => {
    const outcome = await world.run(['doctor']);
    expect(outcome.code).toBe(2);
    const lines = linesOf(outcome);
    expect(Object.keys(lines)).toEqual(checks.slice(0, 6));
    expect(lines['account']).toMatch(
      /^failed: no account is set up.*\n +fix: engagectl config set/,
    );
  });

  it('half a pair in the environment is exit 2', async () => {
    const outcome = await world.run(['doctor'], { env: { ENGAGECTL_ACCOUNT_ID: 'A' } });
    expect(outcome.code).toBe(2);
    expect(linesOf(outcome)['account']).toContain('without ENGAGECTL_PASSCODE');
  });
});

describe('D the state directory', () => {
  it('is exit 9 if it cannot be created', async () => {
    writeFileSync(world.stateDir, 'in the way');
    const env = { ENGAGECTL_STATE_DIR: path.join(world.stateDir, 'state') };
    const outcome = await doctor(undefined, { env });
    expect(outcome.code).toBe(9);
    expect(linesOf(outcome)['state']).toMatch(/^failed: .*\n +fix: .*ENGAGECTL_STATE_DIR/);
  });

  it('causes a warning if others can read it, exit 0', async () => {
    mkdirSync(world.stateDir);
    chmodSync(world.stateDir, 0o755);
    const outcome = await doctor();
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(linesOf(outcome)['state']).toMatch(/^warning: .*\n +fix: chmod 700 /);
  });
});

describe('the service', () => {
  it('is exit 4 if it refuses the credentials', async () => {
    const outcome = await doctor({ answer: { status: 401 } });
    expect(outcome.code).toBe(4);
    expect(linesOf(outcome)['request']).toMatch(/^failed: .*401.*\n +fix: engagectl config check/);
    expect(outcome.stderr).toContain('E-CREDENTIALS');
  });

  it.each([
    [401, []],
    [500, []],
    [401, ['--json']],
    [500, ['--json']],
  ])('is quoted with addresses masked: HTTP %i, %o', async (status, args) => {
    const service = await start();
    const error = 'no ada.lovelace@mail.example, +919876543210 here';
    await service.fault({ answer: { status, body: { status: 'fail', error } } });
    const { code, stdout, stderr } = await doctorAt(service.url, {}, args);
    expect(code).toBe(status === 401 ? 4 : 5);
    expect(stdout + stderr).not.toMatch(/lovelace|98765/);
    expect(stdout).toContain(`HTTP ${status}: no ada…, +9198… here`);
    const whole = await doctorAt(service.url, {}, [...args, '--show-pii']);
    expect(whole.stdout).toContain(error);
  });

  it('is exit 5 if it is unreachable', async () => {
    const outcome = await doctorAt('http://127.0.0.1:9');
    expect(outcome.code).toBe(5);
    expect(linesOf(outcome)['request']).toMatch(/^failed: .*ECONNREFUSED/);
    expect(linesOf(outcome)['clock']).toMatch(/^ok: not compared/);
  });

  it('is exit 5 if its name is unknown', async () => {
    const outcome = await doctorAt('https://no-such-host.invalid');
    expect(outcome.code).toBe(5);
    expect(linesOf(outcome)['name']).toMatch(/^failed: no-such-host.invalid cannot be resolved/);
    expect(linesOf(outcome)['tls']).toMatch(/^failed: no secure connection/);
  });

  const elsewhere = { answer: { status: 302, headers: { Location: 'https://elsewhere.test/' } } };
  it.each<[string, FaultRuleInput, number]>([
    ['a sign-in page', { action: 'html' }, 7],
    ['a redirect', elsewhere, 7],
    ['an error', { answer: { status: 503, body: 'down' } }, 5],
  ])('is reported if it answers with %s', async (_what, fault, code) => {
    const outcome = await doctor(fault);
    expect(outcome.code).toBe(code);
    expect(linesOf(outcome)['request']).toMatch(/^failed: [^]*\n +fix: /);
  });

  it.each([
    ['behind', 600_000, 'ahead of'],
    ['ahead of', -600_000, 'behind'],
  ])('causes a warning if it is %s this clock by ten minutes', async (_what, offset, side) => {
    const outcome = await doctor(undefined, { now: () => Date.now() + offset });
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(linesOf(outcome)['clock']).toMatch(new RegExp(`^warning: (600|599|601) s ${side}`));
  });
});

it('exits with the most serious of several failures', async () => {
  writeFileSync(world.stateDir, 'in the way');
  const outcome = await doctor({ answer: { status: 403 } });
  expect(outcome.code).toBe(9);
  expect(outcome.stderr).toContain('2 of 11 checks failed: state, request');
});

describe('the environment', () => {
  it('shows proxy variables without their password', async () => {
    const env = { HTTPS_PROXY: 'http://me:hunter2@proxy.invalid:3128', no_proxy: '.example' };
    const outcome = await doctorAt('https://region.invalid', { env });
    expect(linesOf(outcome)['proxy']).toContain(
      'in effect: HTTPS_PROXY=http://***@proxy.invalid:3128 no_proxy=.example',
    );
    expect(linesOf(outcome)['name']).toContain('the proxy resolves');
    expect(outcome.stdout + outcome.stderr).not.toContain('hunter2');
    expect(outcome.code).toBe(5);
    const loopback = await doctor(undefined, { env });
    expect(linesOf(loopback)['proxy']).toContain('not for 127.0.0.1');
    expect(loopback.code).toBe(0);
  });

  it('is exit 2 if certificates are not verified', async () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const outcome = await doctorAt('https://region.invalid', { env });
    expect(linesOf(outcome)['request']).toMatch(/^failed: NODE_TLS_REJECT_UNAUTHORIZED=0/);
  });
});

describe.skipIf(!hasOpenssl())('the certificate', () => {
  async function listening(name: string, days?: number) {
    const tls = certificate(name, days);
    const server = createServer(tls, (_request, response) => response.end(found));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return { file: tls.file, url: `https://localhost:${(server.address() as AddressInfo).port}` };
  }

  /** Node reads NODE_EXTRA_CA_CERTS at its start. */
  async function trusting(url: string, file: string): Promise<Outcome> {
    const env = { ...account(url), NODE_EXTRA_CA_CERTS: file, HOME: world.cwd };
    return new BinProcess(world, ['doctor'], env).outcome();
  }

  it('is exit 5 if it is self-signed, with the way to trust it', async () => {
    const { url } = await listening('localhost');
    const outcome = await doctorAt(url);
    expect(outcome.code).toBe(5);
    expect(linesOf(outcome)['tls']).toMatch(/self-signed.*\n +fix: .*NODE_EXTRA_CA_CERTS/);
  });

  it('is exit 5 if it is for another name', async () => {
    const { url, file } = await listening('region.test');
    const outcome = await trusting(url, file);
    expect(outcome.code).toBe(5);
    expect(linesOf(outcome)['tls']).toMatch(/altnames.*\n +fix: .*for another name/);
  });

  it('is shown with its issuer and expiry if it is trusted', async () => {
    const { url, file } = await listening('localhost', 30);
    const outcome = await trusting(url, file);
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(linesOf(outcome)['tls']).toMatch(/^ok: TLSv1.3, certificate by localhost until \d{4}-/);
  });

  it('causes a warning if it expires soon', async () => {
    const { url, file } = await listening('localhost', 2);
    const outcome = await trusting(url, file);
    expect(outcome.code).toBe(0);
    expect(linesOf(outcome)['tls']).toMatch(/^warning: .*: (?:1 day|2 days)\n +fix: /);
  });

  it('names an authority file that cannot be read', async () => {
    const { url } = await listening('localhost');
    const env = { NODE_EXTRA_CA_CERTS: '/no/such/file.pem' };
    const outcome = await doctorAt(url, { env });
    expect(linesOf(outcome)['tls']).toMatch(/fix: .*\/no\/such\/file.pem cannot be read/);
  });
});

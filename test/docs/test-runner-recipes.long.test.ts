import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { binPath } from '../support/processes/bin-process.js';
import { makeWorld } from '../support/test-environment.js';

// The recipes of docs/local-service.md for runners of other languages, run as they stand there.

const page = readFileSync(
  fileURLToPath(new URL('../../docs/local-service.md', import.meta.url)),
  'utf8',
);
const fixture = /```python\n([^]*?)```/.exec(page)?.[1] ?? '';
const hasPytest =
  spawnSync('python3', ['-m', 'pytest', '--version'], { stdio: 'ignore' }).status === 0;
const hasPython = spawnSync('python3', ['--version'], { stdio: 'ignore' }).status === 0;

const testOfFixture = `
import json, urllib.request

def test_uploads(engage):
    headers = {"Content-Type": "application/json", "X-Service-Account-Id": engage["ENGAGECTL_ACCOUNT_ID"],
               "X-Service-Passcode": engage["ENGAGECTL_PASSCODE"]}
    record = {"identity": "ann", "type": "profile", "profileData": {"City": "Oslo"}}
    body = json.dumps({"d": [record]}).encode()
    request = urllib.request.Request(engage["ENGAGECTL_BASE_URL"] + "/1/upload", body, headers)
    assert json.load(urllib.request.urlopen(request))["processed"] == 1
`;

/** Stands for pytest where it is not installed: runs the fixture and the test by hand. */
const withoutPytest = `
import pathlib, sys, tempfile, types
class Factory:
    def mktemp(self, name): return pathlib.Path(tempfile.mkdtemp(prefix=name))
sys.modules["pytest"] = types.SimpleNamespace(fixture=lambda **_: lambda function: function)
import conftest, test_it
running = conftest.engage(Factory())
test_it.test_uploads(next(running))
assert next(running, None) is None
print("1 passed")
`;

it.skipIf(!hasPython)('the pytest fixture serves a test, and the service ends with it', () => {
  const world = makeWorld();
  const programs = world.path('bin');
  mkdirSync(programs);
  symlinkSync(binPath, path.join(programs, 'engagectl'));
  writeFileSync(world.path('conftest.py'), fixture);
  writeFileSync(world.path('test_it.py'), testOfFixture);
  writeFileSync(world.path('by_hand.py'), withoutPytest);
  const PATH = [programs, process.env['PATH'], path.dirname(process.execPath)].join(':');
  const words = hasPytest ? ['-m', 'pytest', '-q'] : ['by_hand.py'];
  const { stdout, stderr, status } = spawnSync('python3', words, {
    cwd: world.cwd,
    env: { PATH, TMPDIR: world.cwd, HOME: world.cwd },
    encoding: 'utf8',
    timeout: 60_000, // a service that did not end would keep Popen waiting
  });
  expect(stdout, stderr).toContain('1 passed');
  expect(status, stderr).toBe(0);
});

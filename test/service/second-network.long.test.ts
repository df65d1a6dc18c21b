import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { packedProject } from '../support/packed-package.js';
import { until } from '../support/until.js';

// The local service of the installed package, as Python's standard library sees it from a second network.

const isPossible = process.platform === 'linux' && process.getuid?.() === 0;
if (!isPossible) console.warn('SKIPPED second-network: a network namespace needs Linux and root');

const { folder, installed, remove } = packedProject();
afterAll(remove);

/** Creates a network namespace. Returns its name and the addresses of both ends of the wire. */
function secondNetwork() {
  const id = process.pid % 1000;
  const [name, near, far] = [`engagectl-${id}`, `eng-a-${id}`, `eng-b-${id}`];
  const net = `10.${200 + (id % 50)}.${id % 250}`;
  const ip = (words: string) => execFileSync('ip', words.split(' '));
  ip(`netns add ${name}`);
  onTestFinished(() => void ip(`netns delete ${name}`));
  ip(`link add ${near} type veth peer name ${far}`);
  ip(`link set ${far} netns ${name}`);
  ip(`addr add ${net}.1/24 dev ${near}`);
  ip(`link set ${near} up`);
  ip(`netns exec ${name} ip addr add ${net}.2/24 dev ${far}`);
  ip(`netns exec ${name} ip link set ${far} up`);
  return { name, host: `${net}.1` };
}

/** Starts the installed program. Resolves with the port that it printed. */
async function serve(...words: string[]) {
  const child = spawn(process.execPath, [path.join(installed, 'bin/engagectl.js'), ...words], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      ENGAGECTL_ACCOUNT_ID: 'A-1',
      ENGAGECTL_PASSCODE: 'a-passcode',
    },
  });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  await until(() => stdout.includes('\n'), { message: () => `the URL; on stderr: ${stderr}` });
  return {
    port: new URL(stdout.split('\n', 1)[0]!).port,
    closed,
    stdin: child.stdin,
    stderr: () => stderr,
  };
}

const client = `
import json, socket, ssl, sys, threading, time, urllib.error, urllib.request
host, port, tls_port, ca = sys.argv[1:5]
base = f'http://{host}:{port}'
account = {'X-Service-Account-Id': 'A-1', 'X-Service-Passcode': 'a-passcode'}
def call(method, path, body=None, headers={'Content-Type': 'application/json'}, base=base, context=None):
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {**headers, **account}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60, context=context) as answer: return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error: return error.code, error.read(), error.headers
def ask(*words): return json.loads(call(*words)[1])
def raw(*lines):
    with socket.create_connection((host, int(port)), 20) as s:
        s.sendall('\\r\\n'.join([*lines, '', '']).encode())
        return s.makefile('rb').read().decode().split('\\r\\n')[0]
def last(): return ask('GET', '/_local/requests')['requests'][-1]
def export(event):
    cursor = ask('POST', '/1/events.json?app=true', {'event_name': event, 'from': 20200101, 'to': 20301231})['cursor']
    return ask('GET', '/1/events.json?cursor=' + cursor)['records']
seen = {}
seen['seeded'] = export('App Launched')
call('POST', '/1/upload', {'d': []}, {'Content-Type': 'text/plain'}); seen['reason'] = last()['reason']
call('POST', '/1/upload', b'{"d":[}'); seen['byte'] = last()['reason']
flag = {'d': [{'type': 'profile', 'identity': 'eve', 'profileData': {'MSG-email': 'false'}}]}
call('POST', '/1/upload', flag); seen['warnings'] = last()['warnings']
call('PUT', '/_local/settings', {'strict': True}); seen['strict'] = ask('POST', '/1/upload', flag)['status']
call('PUT', '/_local/settings', {'strict': False})
one = lambda value: {'d': [{'type': 'profile', 'identity': 'ann', 'profileData': {'Tags': value}}]}
call('POST', '/1/upload', one({'$add': ['a']}))
call('POST', '/1/upload', json.dumps(one({'$add': ['b']})).replace('$', '\\\\u0024').encode())
seen['tags'] = ask('GET', '/1/profile.json?identity=ann')['record']['profileData']['Tags']
seen['allow'] = call('DELETE', '/1/upload')[2]['Allow']
head = [f'{name}: {value}' for name, value in account.items()]
seen['absolute'] = raw(f'GET {base}/1/profile%2Ejson?identity=ann HTTP/1.1', f'Host: {host}', 'Connection: close', *head)
seen['old'] = raw('GET /1/profile.json?identity=ann HTTP/1.0', *head)
seen['repeated'] = call('GET', '/1/profile.json?identity=ann&identity=bob')[0]
started = time.monotonic(); call('POST', '/1/upload', b'{"d":[' + b'[' * 8_000_000); seen['deep ms'] = round((time.monotonic() - started) * 1000)
def burst():
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(call('GET', '/1/profile.json?identity=ann')[0])) for _ in range(12)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return statuses.count(429)
call('PUT', '/_local/settings', {'latencyMs': 500}) # twelve threads may take their time to start on a busy machine
seen['rejected'] = sorted({burst() for _ in range(5)})
call('PUT', '/_local/settings', {'latencyMs': 0})
call('PUT', '/_local/snapshots/all'); call('POST', '/_local/reset')
seen['reset'] = 'Tags' in ask('GET', '/1/profile.json?identity=ann')['record']['profileData']
call('POST', '/_local/snapshots/all/restore')
seen['restored'] = ask('GET', '/1/profile.json?identity=ann')['record']['profileData']['Tags']
seen['openapi'] = ask('GET', '/_local/openapi.json')['openapi']
secure = f'https://engage:{tls_port}'
resolve = socket.getaddrinfo
socket.getaddrinfo = lambda name, *rest, **more: resolve(host if name == 'engage' else name, *rest, **more)
seen['tls'] = call('GET', '/1/profile.json?identity=ann', base=secure, context=ssl.create_default_context(cafile=ca))[0]
with socket.create_connection((host, int(tls_port)), 20) as s:
    s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); seen['plain'] = s.makefile('rb').read().decode().splitlines()[-1]
print(json.dumps(seen))
`;

/** An event as an export returned it. */
const launched = {
  profile: { identity: 'ann', platform: 'Android', objectId: 'd-1', push_token: 't', id: 7 },
  ts: 20240501101500,
  event_props: { Version: '1.0' },
  session_props: { session_source: 'Direct' },
};

it.skipIf(!isPossible)('serves Python in another network as the documentation says', async () => {
  const { name, host } = secondNetwork();
  const seed = path.join(folder, 'seed.ndjson');
  writeFileSync(seed, JSON.stringify({ ...launched, event_name: 'App Launched' }));
  const words = ['serve', '--port', '0', '--memory', '--host', host, '--seed', seed];
  const plain = await serve(...words, '--exit-with-stdin');
  const secure = await serve(...words, '--tls', '--allow-host', 'engage');
  const certificate = () => /\S+certificate-\d+\.pem/.exec(secure.stderr())?.[0];
  await until(() => certificate() !== undefined, { message: secure.stderr });
  const ca = certificate()!;
  const script = path.join(folder, 'client.py');
  writeFileSync(script, client);
  const { stdout } = await promisify(execFile)(
    'ip',
    ['netns', 'exec', name].concat(['python3', script, host, plain.port, secure.port, ca]),
  );
  const { 'deep ms': deep, ...seen } = JSON.parse(stdout) as Record<string, unknown>;
  expect(seen).toEqual({
    seeded: [
      expect.objectContaining({ ...launched, profile: expect.objectContaining(launched.profile) }),
    ],
    reason: 'Content-Type is text/plain: send application/json',
    byte: 'the body is not JSON: syntax error at byte 6',
    warnings: ['MSG-email is neither true nor false'],
    strict: 'fail',
    tags: ['a', 'b'],
    allow: 'POST',
    absolute: 'HTTP/1.1 200 OK',
    old: 'HTTP/1.1 200 OK',
    repeated: 400,
    rejected: [9],
    reset: false,
    restored: ['a', 'b'],
    openapi: '3.1.0',
    tls: 200,
    plain: 'This port serves TLS: the URL must start with https://',
  });
  expect(deep).toBeLessThan(1000);
  plain.stdin.end();
  await plain.closed;
});

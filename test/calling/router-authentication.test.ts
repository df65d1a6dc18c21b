import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { createSignedCall } from '../../src/calling/index.js';
import { keyProof } from '../../src/calling/key-proof.js';
import { startService } from '../../src/testing.js';
import { callAccount, runRouter } from '../service/calls/raw-client.js';
import { annProperties, core, patient, testClient } from '../support/calling-client.js';
import { scriptedRouter, type ScriptedRouter } from '../support/servers/scripted-router.js';
import { until } from '../support/until.js';
import { anyCharacter } from '../support/any-character.js';

// Who answers has to prove that it holds the API key, before a client sends anything that follows from it.

it('sends only a random number to a peer without the API key', async () => {
  const router = await scriptedRouter({ apiKey: 'another' });
  const ann = await testClient({ url: router.url });
  const { error } = await ann.client.initialize(annProperties);
  expect(error).toMatchObject({
    errorName: 'AUTH_FAILURE',
    errorDescription: `The program that answers at ${router.url} does not have this API key; the key was not sent`,
  });
  expect(router.texts.map((text) => JSON.parse(text) as object)).toEqual([
    { t: 'hello', id: 1, nonce: expect.stringMatching(/^[\da-f]{32}$/) as string },
  ]);
});

it('sends no key to a stranger that takes over the port of a closed router', async () => {
  const service = await runRouter();
  const refusals: string[] = [];
  const ann = await testClient({
    url: service.url,
    onRefused: (errorName) => void refusals.push(errorName),
  });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  await service.close();
  const stranger = await scriptedRouter({ port: Number(new URL(service.url).port), apiKey: 'own' });
  await until(() => refusals.length > 0);
  expect(refusals).toEqual(['AUTH_FAILURE']);
  const said = stranger.texts.join();
  expect(said).toContain('"hello"');
  for (const secret of [annProperties.apiKey, annProperties.cuid, '"auth"'])
    expect(said).not.toContain(secret);
});

it('never sends the key, not even to the router', async () => {
  const router = await scriptedRouter();
  const ann = await testClient({ url: router.url });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  expect(router.heard[0]).toMatchObject({ t: 'auth', proof: expect.any(String) as string });
  expect(router.texts.join()).not.toContain(annProperties.apiKey);
});

it.each<[string, () => { data: object } | { refuse: string } | undefined, string]>([
  ['says nothing', () => undefined, 'NO_NETWORK'],
  ['proves nothing', () => ({ data: {} }), 'AUTH_FAILURE'],
  ['answers with no object', () => ({ data: [null] }), 'AUTH_FAILURE'],
  ['refuses', () => ({ refuse: 'WRONG_ORDER' }), 'CALL_FAILED'],
])('stops talking to a peer that %s', async (_, script, name) => {
  const router = await scriptedRouter();
  router.answer('hello', script);
  // Only silence is waited for.
  const times = name === 'NO_NETWORK' ? { answer: 100 } : {};
  const ann = await testClient({ url: router.url, times });
  expect((await ann.client.initialize(annProperties)).error?.errorName).toBe(name);
  expect(router.heard).toEqual([]);
});

it.each([undefined, null, 7, {}, { replay: 'abc', lastSeq: 0 }, { replay: 0, lastSeq: {} }])(
  'leaves a router that proves itself and answers auth with %j',
  async (data) => {
    const router = await scriptedRouter();
    router.answer('auth', () => undefined);
    const ann = await testClient({ url: router.url });
    const opening = ann.client.initialize(annProperties);
    await until(() => router.heard.length > 0);
    router.sendRaw({ t: 'ack', re: router.heard[0]!.id, ok: true, data });
    expect((await opening).error).toMatchObject({
      errorName: 'NO_NETWORK',
      errorDescription: 'The router answered auth without the numbers replay and lastSeq',
    });
    await until(() => router.sockets() === 0);
  },
);

it.each<[string, object, string]>([
  ['no number', { ok: true, data: { nonce: { toString: 1 }, proof: 'p' } }, 'AUTH_FAILURE'],
  ['a refusal without a reason', { ok: false }, 'CALL_FAILED'],
])('refuses a stranger at the port of the router that sends %s', async (_, answer, name) => {
  const router = await scriptedRouter();
  const refusals: string[] = [];
  const ann = await testClient({
    url: router.url,
    onRefused: (errorName) => void refusals.push(errorName),
  });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  await greetedAgain(router);
  const { id } = JSON.parse(router.texts.at(-1)!) as { id: number };
  router.sendRaw({ t: 'ack', re: id, ...answer });
  await until(() => refusals.length > 0);
  expect(refusals).toEqual([name]);
});

it('leaves a stranger that sends more than it is asked, and looks for the router again', async () => {
  const router = await scriptedRouter();
  const ann = await testClient({ url: router.url, times: { ...patient, answer: 3_600_000 } });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  await greetedAgain(router);
  for (let seq = 0; seq < 3; seq += 1)
    router.sendRaw({ t: 'over', seq, callId: 'c', reason: 'x'.repeat(600_000) });
  await until(() => greetings(router) > 2);
});

it('survives a router that leaves out what the protocol requires', async () => {
  const router = await scriptedRouter();
  const ann = await testClient({ url: router.url });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  router.sendRaw({ t: 'incoming', seq: 1 });
  await until(() => router.seen.includes(1));
  router.answer('auth', () => undefined);
  router.drop();
  await until(() => router.heard.length > 1);
  router.sendRaw({ t: 'ack', re: router.heard[1]!.id, ok: true });
  await until(() => greetings(router) > 2);
});

const greetings = ({ texts }: ScriptedRouter) =>
  texts.filter((text) => text.includes('"hello"')).length;

/** Drops the socket of a client, and waits until it has greeted again, to which nothing is answered. */
async function greetedAgain(router: ScriptedRouter): Promise<void> {
  router.answer('hello', () => undefined);
  router.drop();
  await until(() => greetings(router) > 1);
}

it('draws a new random number each time', async () => {
  const router = await scriptedRouter();
  for (let round = 0; round < 3; round += 1) {
    const ann = await testClient({ url: router.url, random: () => 0.5 });
    await ann.client.initialize(annProperties);
  }
  const nonces = router.texts.flatMap((text) => /"nonce":"(\w+)"/.exec(text)?.[1] ?? []);
  expect(new Set(nonces).size).toBe(3);
});

it('needs neither WebCrypto nor TextEncoder, which React Native may lack', async () => {
  const { url } = await runRouter();
  const ann = await testClient({ url });
  vi.stubGlobal('crypto', undefined);
  vi.stubGlobal('TextEncoder', undefined);
  try {
    expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  } finally {
    vi.unstubAllGlobals();
  }
});

it('computes the same HMAC as Node for any key and text', () => {
  const texts = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 300 }),
    fc.string({
      unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    }),
  );
  fc.assert(
    fc.property(texts, texts, (key, text) => {
      expect(keyProof(key, text)).toBe(createHmac('sha256', key).update(text).digest('hex'));
    }),
    {
      examples: [
        ['', ''],
        ['k'.repeat(64), 'x'.repeat(55)],
        ['k'.repeat(65), 'x'.repeat(56)],
      ],
    },
  );
});

const unsafe = 'must start with wss:// or https://; unencrypted ws and http';

it.each([
  ['ws://calls.example.com', unsafe],
  ['http://calls.example.com', unsafe],
  ['ws://10.0.2.20:8700', unsafe],
  ['ws://10.0.2.2.example.com', unsafe],
  ['ws://127.0.0.1.example.com', unsafe],
  ['ws://localhost.example.com', unsafe],
  ['ws://[::2]:80', unsafe],
  ['ws://0.0.0.0:8700', unsafe],
  ['wss://ann:secret@calls.example.com', 'must not contain a user name or password'],
  ['http://localhost:secret@calls.example.com', 'must not contain a user name or password'],
  ['ws://localhost\\@calls.example.com', 'must not contain a user name or password'],
  ['wss://calls\\.example.com', 'contains a space, a backslash or a control character'],
  ['ws://local\nhost', 'contains a space, a backslash or a control character'],
  ['ftp://localhost', 'must start with wss:// or https:// and a host'],
  ['file:///etc/passwd', 'must start with wss:// or https:// and a host'],
  ['wss:///path', 'must start with wss:// or https:// and a host'],
  ['calls.example.com', 'must start with wss:// or https:// and a host'],
  [' wss://calls.example.com', 'must start with wss:// or https:// and a host'],
  ['', 'is missing: pass the wss:// or https:// address of the router'],
])('opens no socket to %j', async (url, problem) => {
  const opened = { count: 0 };
  const client = createSignedCall({ url, core, WebSocket: socketThat(() => (opened.count += 1)) });
  const { error } = await client.initialize(annProperties);
  expect(error).toMatchObject({ errorName: 'INIT_CONFIG' });
  expect(error?.errorDescription).toContain(`url ${problem}`);
  expect(error?.errorDescription).not.toContain('secret');
  expect(opened.count).toBe(0);
});

it.each([
  ['wss://calls.example.com', 'wss://calls.example.com/call/v1/signal'],
  ['https://calls.example.com:8443/', 'wss://calls.example.com:8443/call/v1/signal'],
  ['HTTPS://Calls.example.com/own/path/', 'wss://Calls.example.com/own/path'],
  ['ws://localhost:8700', 'ws://localhost:8700/call/v1/signal'],
  ['http://LOCALHOST', 'ws://LOCALHOST/call/v1/signal'],
  ['http://127.5.0.1:1/', 'ws://127.5.0.1:1/call/v1/signal'],
  ['ws://[::1]:8700', 'ws://[::1]:8700/call/v1/signal'],
  ['HTTP://10.0.2.2:8700', 'ws://10.0.2.2:8700/call/v1/signal'],
])('gives %s the socket %s', async (url, expected) => {
  const urls: string[] = [];
  const WebSocket = socketThat((address) => urls.push(address));
  const client = createSignedCall({ url, core, WebSocket, times: { answer: 1 }, log: () => {} });
  expect((await client.initialize(annProperties)).error?.errorName).toBe('NO_NETWORK');
  expect(urls).toEqual([expected]);
});

it('takes 10.0.2.2 for this machine in the Android emulator only', async () => {
  const WebSocket = socketThat(() => undefined);
  const env = { url: 'ws://10.0.2.2:8700', core, WebSocket, platform: 'ios' } as const;
  const { error } = await createSignedCall(env).initialize(annProperties);
  expect(error?.errorDescription).toContain(unsafe);
});

/** A JWT, built as RFC 7515 says. */
function jwt(
  claims: object | string,
  key = tokenKey,
  header: object = { alg: 'HS256', typ: 'JWT' },
): string {
  const text = typeof claims === 'string' ? claims : JSON.stringify(claims);
  const [head, body] = [JSON.stringify(header), text].map((part) =>
    Buffer.from(part).toString('base64url'),
  );
  const signature = createHmac('sha256', key).update(`${head}.${body}`).digest('base64url');
  return `${head}.${body}.${signature}`;
}

const tokenKey = 'a key of thirty-two bytes or more';
const exp = 4_000_000_000;
const own = { sub: 'ann_1', exp };

it.each<[what: string, token: string | undefined, why: string]>([
  ['none', undefined, 'a token is required'],
  ['no JWT', 'abc', 'is not a JWT signed by HS256'],
  ['another key', jwt(own, 'another'), 'is not a JWT signed by HS256'],
  ['no algorithm', jwt(own, tokenKey, { alg: 'none' }), 'is not a JWT signed by HS256'],
  [
    'an extension',
    jwt(own, tokenKey, { alg: 'HS256', crit: ['b64'] }),
    'is not a JWT signed by HS256',
  ],
  ['no signature', jwt(own).replace(/[^.]*$/, ''), 'is not a JWT signed by HS256'],
  ['changed claims', jwt(own).replace(/\.[^.]*\./, '.e30.'), 'is not a JWT signed by HS256'],
  ['more parts', `${jwt(own)}.x`, 'is not a JWT signed by HS256'],
  ['no object', jwt([1]), 'has expired'],
  ['the past', jwt({ ...own, exp: 1_000_000_000 }), 'has expired'],
  ['an endless time', jwt('{"sub":"ann_1","exp":1e999}'), 'has expired'],
  ['no end', jwt({ sub: 'ann_1' }), 'has expired'],
  ['the future', jwt({ ...own, nbf: exp - 1 }), 'is not valid yet'],
  ['another cuid', jwt({ ...own, sub: 'bob_1' }), 'is for another cuid'],
  ['another device', jwt({ ...own, device: 'd-2' }), 'is for another device'],
])('rejects a client whose token is of %s', async (_, token, why) => {
  const { url } = await runRouter({ tokenKey });
  const more = token === undefined ? {} : { token: () => token };
  const ann = await testClient({ url, deviceId: 'd-1', ...more });
  const { error } = await ann.client.initialize(annProperties);
  expect(error?.errorName).toBe('AUTH_FAILURE');
  expect(error?.errorDescription).toContain(why);
});

it('registers a client with a token of its cuid, and asks for a new one for each socket', async () => {
  const service = await runRouter({ tokenKey });
  const tokens = [jwt({ ...own, device: 'd-1' }), jwt({ ...own, nbf: 1 })];
  let isOffline = false;
  let asked = 0;
  const token = () => {
    asked += 1;
    if (isOffline) throw new Error('the backend is unreachable');
    return tokens[asked % 2]!;
  };
  const ann = await testClient({ url: service.url, deviceId: 'd-1', token });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  isOffline = true;
  await service.call('POST', '/_local/calls/drop', { cuid: 'ann_1' });
  await until(() => asked > 2);
  isOffline = false;
  const bob = await testClient({ url: service.url, token: () => jwt({ sub: 'bob_1', exp }) });
  await bob.client.initialize({ ...annProperties, cuid: 'bob_1' });
  await bob.client.call('ann_1', 'hello');
  await until(() => ann.rang.length === 1);
});

it('gives a token more time than the router gives a socket, and tries again if there is none', async () => {
  const { url } = await runRouter({ tokenKey, timers: { auth: 50 } });
  const slow = async () => {
    await sleep(200);
    return jwt(own);
  };
  const ann = await testClient({ url, token: slow });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });

  const never = () => new Promise<string>(() => {});
  const bob = await testClient({ url, token: never, times: { answer: 100 } });
  const { error } = await bob.client.initialize({ ...annProperties, cuid: 'bob_1' });
  expect(error).toMatchObject({
    errorName: 'NO_NETWORK',
    errorDescription: 'The function token failed: Error: no answer in 100 ms',
  });
});

it('signs tokens for whoever has the passcode, and none where the router requires none', async () => {
  const service = await runRouter({ tokenKey });
  const ask = async (of: typeof service, body: object) =>
    of.call('POST', '/_local/calls/token', body);
  const { text } = await ask(service, { cuid: 'ann_1' });
  const { token } = JSON.parse(text) as { token: string };
  const ann = await testClient({ url: service.url, token: () => token });
  const eve = await testClient({ url: service.url, token: () => token });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  const asEve = await eve.client.initialize({ ...annProperties, cuid: 'eve_1' });
  expect(asEve.error?.errorDescription).toContain('is for another cuid');
  await service.call('PUT', '/_local/clock', { advanceSeconds: 3601 });
  const late = await testClient({ url: service.url, token: () => token });
  const expired = await late.client.initialize(annProperties);
  expect(expired.error?.errorDescription).toContain('has expired');
  expect(await ask(service, { cuid: 'a b' })).toMatchObject({
    http: 400,
    error: expect.stringContaining('cuid: must be a cuid') as string,
  });
  const headers = { 'Content-Type': 'application/json' };
  const stranger = { method: 'POST', headers, body: '{"cuid":"ann_1"}' };
  expect((await fetch(`${service.url}/_local/calls/token`, stranger)).status).toBe(401);
  expect((await ask(await runRouter(), { cuid: 'ann_1' })).text).toBe('{"token":null}');
});

it('lists calls and devices with the passcode only, where clients need tokens', async () => {
  const service = await runRouter({ tokenKey });
  const headers = {
    'X-Service-Account-Id': callAccount.accountId,
    'X-Service-Passcode': callAccount.apiKey,
  };
  for (const path of ['/call/v1/calls', '/call/v1/devices']) {
    expect((await fetch(service.url + path, { headers })).status).toBe(401);
    expect((await service.call('GET', path)).http).toBe(200);
  }
});

it('rejects a token key that is too short', async () => {
  const options = { calls: { ...callAccount, tokenKey: 'short' } };
  await expect(startService(options)).rejects.toThrow(
    'calls.tokenKey: must have at least 32 bytes',
  );
});

/** A class of sockets that tells of each that is made, and never opens. */
const socketThat = (isMade: (url: string) => unknown) =>
  class {
    constructor(url: string) {
      isMade(url);
    }
    addEventListener(): void {}
    send(): void {}
    close(): void {}
  };

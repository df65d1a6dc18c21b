// node phone-process.mjs <url> <cuid> [device] [options]: a phone that does what lines of stdin say (call <cuid>, answer,
// decline, hangup, logout, initialize <JSON of changed properties>, over, sleep <ms>, leave), and writes a line for each event, and
// `incoming` when it rings. The device is a preset, or `throws` or `rejects`: each of its functions fails. Options, joined
// by commas: never-connects (no voice), with-ids (each event with its id), with-connection (states of the connection).
import { createInterface } from 'node:readline';
import process from 'node:process';
import { createSignedCall, devicePresets } from '../../../dist/calling/index.js';
import { nodeEnv } from '../../../dist/calling/node/index.js';

const [url, cuid, device = 'allowAll', list = ''] = process.argv.slice(2);
const options = list.split(',');
const failures = {
  throws: () => {
    throw new Error('bridge down');
  },
  rejects: () => Promise.reject(new Error('bridge down')),
};
const failing = (run) =>
  Object.fromEntries(Object.keys(devicePresets.allowAll).map((name) => [name, run]));
const say = (line) => process.stdout.write(`${line}\n`);
const never = { connected: new Promise(() => undefined), close: () => undefined };
const client = createSignedCall(
  await nodeEnv({
    url,
    core: { accountId: 'C' },
    device: failures[device] ? failing(failures[device]) : devicePresets[device],
    deviceId: `phone-of-${cuid}`,
    times: { reconnectScale: 0.01 },
    log: () => undefined,
    ...(options.includes('never-connects') && { media: { open: () => Promise.resolve(never) } }),
  }),
);

let ringing = '';
const hasIds = options.includes('with-ids');
client.addListener(client.SignedCallOnCallStatusChanged, ({ callEvent, eventId }) =>
  say(hasIds ? `${callEvent} ${eventId}` : callEvent),
);
if (options.includes('with-connection'))
  client.addListener(client.SignedCallOnConnectionChanged, ({ state }) => say(state));
client.onIncomingCall(({ callId }) => {
  ringing = callId;
  say('incoming');
});

const told = ({ isSuccessful, error }) => {
  if (!isSuccessful) say(error.errorName);
};
const properties = {
  accountId: 'CALL-ACCOUNT',
  apiKey: 'call-key',
  cuid,
  allowPersistSocketConnection: true,
};
const does = {
  call: async (to) => told(await client.call(to, 'a call')),
  answer: async () => told(await client.answer(ringing)),
  decline: async () => told(await client.decline(ringing)),
  hangup: () => client.hangup(),
  logout: () => client.logout(),
  initialize: async (changes) => {
    told(await client.initialize({ ...properties, ...JSON.parse(changes) }));
    say('initialized');
  },
  sleep: (milliseconds) => new Promise((go) => setTimeout(go, Number(milliseconds))),
  over: async () => {
    while (client.getCallState() !== 'NoCall') await new Promise((go) => setTimeout(go, 5));
  },
};
let started;
do started = await client.initialize(properties);
while (started.error?.errorName === 'NO_NETWORK'); // a router that drops connections
told(started);
say('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const [word, to] = line.split(/ (.*)/);
  if (word === 'leave') break;
  await does[word](to);
  await client.whenIdle();
  if (word === 'logout') say('logged out');
}
client.close();
process.stdin.destroy();

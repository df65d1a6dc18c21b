// node phone-process.mjs <url> <cuid> [device] [never-connects]: a phone that does what lines of stdin say (call <cuid>, answer,
// decline, hangup, logout, leave), and writes a line for each event, and `incoming` when it rings.
import { createInterface } from 'node:readline';
import process from 'node:process';
import { createSignedCall, devicePresets } from '../../../dist/calling/index.js';
import { nodeEnv } from '../../../dist/calling/node/index.js';

const [url, cuid, device = 'allowAll', mediaName] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const never = { connected: new Promise(() => undefined), close: () => undefined };
const client = createSignedCall(
  await nodeEnv({
    url,
    core: { accountId: 'C' },
    device: devicePresets[device],
    deviceId: `phone-of-${cuid}`,
    times: { reconnectScale: 0.01 },
    log: () => undefined,
    ...(mediaName === 'never-connects' && { media: { open: () => Promise.resolve(never) } }),
  }),
);

let ringing = '';
client.addListener(client.SignedCallOnCallStatusChanged, ({ callEvent }) => say(callEvent));
client.onIncomingCall(({ callId }) => {
  ringing = callId;
  say('incoming');
});

const told = ({ isSuccessful, error }) => {
  if (!isSuccessful) say(error.errorName);
};
const account = { accountId: 'CALL-ACCOUNT', apiKey: 'call-key' };
const does = {
  call: async (to) => told(await client.call(to, 'a call')),
  answer: async () => told(await client.answer(ringing)),
  decline: async () => told(await client.decline(ringing)),
  hangup: () => client.hangup(),
  logout: () => client.logout(),
};
told(await client.initialize({ ...account, cuid, allowPersistSocketConnection: true }));
say('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const [word, to] = line.split(' ');
  if (word === 'leave') break;
  await does[word](to);
  await client.whenIdle();
  if (word === 'logout') say('logged out');
}
client.close();
process.stdin.destroy();

// node voice-process.mjs <url> <cuid> <hertz> [to] [--relay]: says a tone in a call, and prints the tone it hears.
// It calls, or waits to be called; one second of sound is enough. Lines of standard input: `mute`, `unmute`; `loudness`
// and `stats` print what half a second of sound and the SDK say; an empty line hangs up.
import process from 'node:process';
import { createInterface } from 'node:readline';
import { createSignedCall } from '../../../dist/calling/index.js';
import { nodeEnv, nodeVoice } from '../../../dist/calling/node/index.js';

const words = process.argv.slice(2);
const isRelayed = words.includes('--relay'); // host candidates are off
const [url, cuid, hertz, to] = words.filter((word) => word !== '--relay');
const rate = 48_000;
const tone = Int16Array.from(
  { length: rate * 20 },
  (_, index) => 8000 * Math.sin((2 * Math.PI * Number(hertz) * index) / rate),
);

const heard = [];
let listen = () => undefined;
let report;
const enough = new Promise((resolve) => {
  report = resolve;
});
const media = await nodeVoice({
  ...(isRelayed && { iceTransportPolicy: 'relay' }),
  play: { rate, samples: tone },
  onVoice: (sound) => {
    listen(sound);
    if (heard.length === 0 && sound.samples.every((sample) => Math.abs(sample) < 500)) return;
    heard.push(...sound.samples);
    // The first third of a second may still be swinging in.
    if (heard.length > sound.rate * 1.3) report(pitch(heard.slice(-sound.rate), sound.rate));
  },
});
const client = createSignedCall(
  await nodeEnv({
    url,
    core: { accountId: 'C' },
    media,
    log: () => undefined,
    times: { quality: 200 },
  }),
);
const over = new Promise((resolve) => {
  client.addListener(client.SignedCallOnCallStatusChanged, ({ callEvent }) => {
    if (callEvent === 'Ended') resolve();
  });
});
client.addListener(client.SignedCallOnNetworkQualityChanged, ({ quality }) => {
  process.stdout.write(`quality ${quality}\n`);
});
client.onIncomingCall(({ callId }) => client.answer(callId));
const account = { accountId: 'CALL-ACCOUNT', apiKey: 'call-key' };
await client.initialize({ ...account, cuid, allowPersistSocketConnection: true });
process.stdout.write('ready\n');
if (to !== undefined) await client.call(to, 'tones');
process.stdout.write(`${await enough}\n`);
const input = createInterface(process.stdin).on('line', (line) => void obey(line));
// The other side has also received enough, or hangs up.
await over;
input.close();
process.stdin.destroy();
client.close();

async function obey(line) {
  if (line === '') client.hangup();
  if (line === 'mute' || line === 'unmute') {
    client.setMuted(line === 'mute');
    process.stdout.write(`muted ${client.isMuted()}\n`);
  }
  if (line === 'stats') process.stdout.write(`${JSON.stringify(await client.getStats())}\n`);
  if (line === 'loudness') process.stdout.write(`${await loudness()}\n`);
}

/** Returns the greatest amplitude of the next half second. */
function loudness() {
  let [count, peak] = [0, 0];
  return new Promise((resolve) => {
    listen = ({ samples, rate: received }) => {
      count += samples.length;
      for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
      if (count > received / 2) resolve(peak);
    };
  });
}

/** Rising zero crossings per second. */
function pitch(samples, rate) {
  const rises = [];
  for (let index = 1; index < samples.length; index += 1) {
    const [before, here] = [samples[index - 1], samples[index]];
    if (before < 0 && here >= 0) rises.push(index - here / (here - before));
  }
  return (rate * (rises.length - 1)) / (rises.at(-1) - rises[0]);
}

// The export loop that most people would write in Node. Usage: export-node.js <base url>
import { once } from 'node:events';
import { request } from 'undici';

const [baseUrl] = process.argv.slice(2);
const headers = {
  'Content-Type': 'application/json',
  'X-Service-Account-Id': 'BENCH',
  'X-Service-Passcode': 'bench',
};

let { cursor } = await ask('/1/profiles.json?batch_size=4991', {
  method: 'POST',
  body: JSON.stringify({ event_name: 'Charged', from: 20261001, to: 20261014 }),
});
while (cursor) {
  const { records = [], next_cursor } = await ask(`/1/profiles.json?cursor=${cursor}`, {});
  const lines = records.map((record) => `${JSON.stringify(record)}\n`);
  if (!process.stdout.write(lines.join(''))) await once(process.stdout, 'drain');
  cursor = next_cursor;
}

async function ask(target, options) {
  const { body } = await request(`${baseUrl}${target}`, { headers, ...options });
  return body.json();
}

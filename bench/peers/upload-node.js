// The uploader that most people would write in Node: csv-parse (or readline), JSON.stringify, undici,
// fifteen chunks of 1000 in flight. Usage: upload-node.js <file.csv|file.ndjson> <base url>
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parse } from 'csv-parse';
import { request } from 'undici';

const [path, baseUrl] = process.argv.slice(2);
const inFlight = new Set();

let chunk = [];
for await (const record of path.endsWith('.csv') ? recordsOfCsv() : recordsOfNdjson()) {
  if (chunk.push(record) === 1000) await launch();
}
if (chunk.length > 0) await launch();
await Promise.all(inFlight);

async function* recordsOfCsv() {
  for await (const { identity, ...row } of createReadStream(path).pipe(parse({ columns: true }))) {
    const profileData = {};
    for (const [name, value] of Object.entries(row)) {
      if (value !== '') profileData[name] = name === 'MSG-email' ? value === 'true' : value;
    }
    yield { identity, type: 'profile', profileData };
  }
}

async function* recordsOfNdjson() {
  for await (const line of createInterface({
    input: createReadStream(path),
    crlfDelay: Infinity,
  })) {
    yield JSON.parse(line);
  }
}

async function launch() {
  const records = chunk;
  chunk = [];
  const sending = send(records).finally(() => inFlight.delete(sending));
  inFlight.add(sending);
  if (inFlight.size >= 15) await Promise.race(inFlight);
}

async function send(records) {
  const { body } = await request(`${baseUrl}/1/upload`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-Service-Account-Id': 'BENCH',
      'X-Service-Passcode': 'bench',
    },
    body: JSON.stringify({ d: records }),
  });
  const { processed } = await body.json();
  if (processed !== records.length) throw new Error(`${processed} of ${records.length} processed`);
}

import { closeSync, openSync, writeSync } from 'node:fs';
import { randomOf } from '../fixtures/random.js';

const words = [
  'Oslo',
  'Paris',
  'Zürich',
  'São Paulo',
  '東京',
  'Washington, D.C.',
  'Kraków',
  'London',
];
const names = [
  'Anna',
  'José',
  'Łukasz',
  'Zoë',
  'Mary Ann',
  "O'Brien",
  'Ray "Sugar" Jones',
  '芳 王',
];
const notes = ['VIP 🎉', 'said "call me"', 'moved, new address', 'prefers e-mail to phone calls'];

const seed = 20261001;

export const profileColumns = [
  'identity', 'Name', 'Email', 'Phone', 'Gender', 'City', 'Plan', 'Points', 'Last Seen', 'Note',
  'Referrer', 'MSG-email',
]; // prettier-ignore

/** Cells of row `n`: quotes, commas and non-ASCII text; one row in 500 has a newline in a cell. */
function profileCells(n, random) {
  return [
    `user-${n}`,
    `${random.pick(names)} ${random.pick(names)}`,
    `user${n}.${random.below(1000)}@example.test`,
    `+120255501${String(n % 100).padStart(2, '0')}`,
    random.pick(['M', 'F']),
    random.pick(words),
    random.pick(['free', 'pro', 'enterprise']),
    String(random.below(1_000_000)),
    `2026-10-${String(1 + random.below(28)).padStart(2, '0')}T08:00:00Z`,
    n % 500 === 0 ? 'first line\nsecond line' : random.chance(0.3) ? random.pick(notes) : '',
    random.chance(0.5) ? `https://example.test/campaign/${random.below(100)}` : '',
    random.pick(['true', 'false']),
  ];
}

/** Writes a CSV of `rows` user profiles in 12 columns, about 156 bytes a row. Returns nothing. */
export function writeProfilesCsv(path, rows) {
  writeLines(
    path,
    rows,
    `${profileColumns.join(',')}\n`,
    (cells) => `${cells.map(quoted).join(',')}\n`,
  );
}

/** The same with identities that are cuids: `user_1` for `user-1`. */
export function writeCuidsCsv(path, rows) {
  writeLines(path, rows, `${profileColumns.join(',')}\n`, ([identity, ...cells]) => {
    const cuid = identity.replace('-', '_');
    return `${[cuid, ...cells].map(quoted).join(',')}\n`;
  });
}

/** Writes the same users as upload records, one JSON text a line. */
export function writeProfilesNdjson(path, rows) {
  writeLines(path, rows, '', ([identity, ...cells]) => {
    const profileData = {};
    cells.forEach((cell, index) => {
      const name = profileColumns[index + 1];
      if (cell !== '') profileData[name] = name.startsWith('MSG-') ? cell === 'true' : cell;
    });
    return `${JSON.stringify({ identity, type: 'profile', profileData })}\n`;
  });
}

function writeLines(path, rows, header, line) {
  const random = randomOf(seed);
  const file = openSync(path, 'w');
  let text = header;
  for (let n = 0; n < rows; n++) {
    text += line(profileCells(n, random));
    if (text.length > 1 << 20) {
      writeSync(file, text);
      text = '';
    }
  }
  writeSync(file, text);
  closeSync(file);
}

const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/**
 * The inside of a page's `records`: `count` user profiles of about 1.4 KB, three quarters of it event
 * summaries, with integers beyond 2^53 and spellings such as 1387.00 that a number type would change.
 */
export function pageRecords(count, seed) {
  const random = randomOf(seed + 1);
  return Buffer.from(Array.from({ length: count }, (_, n) => exportedProfile(n, random)).join(','));
}

function exportedProfile(n, random) {
  const time = () => 1_790_000_000 + random.below(1_000_000);
  const events = Array.from({ length: 12 }, (_, k) => {
    const first = time();
    const summary = {
      count: random.below(500),
      first_seen: first,
      last_seen: first + random.below(99_999),
    };
    return `"Event ${k} of {our} \\"shop\\"":${JSON.stringify(summary)}`;
  });
  const profileData =
    `{"Account":${'9007199254' + String(740_993_000 + n)},"Balance":${random.below(9000)}.00,` +
    `"City":${JSON.stringify(random.pick(words))},"Note":${JSON.stringify(random.pick(notes))}}`;
  return (
    `{"identity":"user-${n}","email":"user${n}@example.test","name":${JSON.stringify(random.pick(names))},` +
    `"profileData":${profileData},"all_identities":["user-${n}"],"events":{${events.join(',')}},` +
    `"platformInfo":[{"platform":"Web","objectId":"web-${n}"}]}`
  );
}

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { plain, startRawServer, type RawRequest } from '../chaos/malformed-http.js';

// A service, or a proxy before it, that echoes the passcode: wherever it stands in an answer and however it is spelled,
// nothing that a command writes may hold it, be it typed or saved in the config file. Of the 18,000 combinations some 40
// are tried, 1,400 in the long suite, all with ENGAGECTL_ECHO=all.

const { ENGAGECTL_ECHO: echo, ENGAGECTL_LONG: isLong } = process.env;
const stride = echo === 'all' ? 1 : isLong ? 13 : 449;

/** A typed passcode is redacted in all that is written, a saved one only where it is known. */
const sources = ['typed', 'saved'] as const;

const numeric = '481516234';
const odd = 'P/a&s"s-77Q';
const latin = 'pä55wörd-ß9';

type Spell = (passcode: string) => string;
const escaped = (passcode: string) =>
  Array.from(passcode, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join(
    '',
  );
const inJson = (passcode: string) => JSON.stringify(passcode).slice(1, -1);

/** As it stands in a string of JSON. */
const spellings: Readonly<Record<string, Spell>> = {
  'in plain': inJson,
  escaped,
  'in capitals escaped': (passcode) =>
    escaped(passcode).replaceAll(/[0-9a-f]{4}/g, (hex) => hex.toUpperCase()),
  'one letter escaped': (passcode) => escaped(passcode.slice(0, 1)) + inJson(passcode.slice(1)),
  'with \\/': (passcode) => inJson(passcode).replaceAll('/', '\\/').replaceAll('&', '\\u0026'),
  'escaped twice': (passcode) => inJson(escaped(passcode)),
  'as in a URL': encodeURIComponent,
  'as in a URL, twice': (passcode) => encodeURIComponent(encodeURIComponent(passcode)),
  'as in HTML': (passcode) =>
    Array.from(passcode, (letter) => `&#${letter.charCodeAt(0)};`).join(''),
  'escaped as in a program': (passcode) =>
    Buffer.from(passcode).toString('hex').replaceAll(/../g, '\\\\x$&'),
  'in hexadecimal': (passcode) => Buffer.from(passcode).toString('hex'),
  'in base64, as in a URL': (passcode) =>
    encodeURIComponent(Buffer.from(`>>${passcode}`).toString('base64')),
  'in base64': (passcode) => Buffer.from(passcode).toString('base64'),
  'behind an account in base64': (passcode) =>
    Buffer.from(`ACCOUNT-1:${passcode}`).toString('base64'),
  'in base64 for URLs': (passcode) => Buffer.from(`xy${passcode}z`).toString('base64url'),
};

/** Whole answers with the secret, spelled for JSON, somewhere in them. */
const places: Readonly<Record<string, (secret: string) => string>> = {
  error: (secret) => plain(`{"status":"fail","error":"no ${secret} here"}`),
  'error with a code': (secret) => plain(`{"status":"fail","code":400,"error":"${secret}"}`),
  'error of a failing service': (secret) =>
    plain(`{"status":"fail","code":503,"error":"${secret}"}`),
  'key in error': (secret) => plain(`{"status":"fail","code":400,"error":{"${secret}":1}}`),
  'list in error': (secret) => plain(`{"status":"fail","error":[["${secret}"]]}`),
  code: (secret) => plain(`{"status":"fail","code":"${secret}","error":"x"}`),
  status: (secret) => plain(`{"status":"${secret}","error":"x"}`),
  records: (secret) =>
    plain(`{"status":"success","records":"${secret}","next_cursor":"${secret} x"}`),
  cursor: (secret) => plain(`{"status":"success","cursor":"${secret} x"}`),
  // Where the secret can stand in a URL it is a good one, and a journal would keep it.
  'cursor alone': (secret) => plain(`{"status":"success","cursor":"${secret}"}`),
  'next cursor': (secret) =>
    plain(`{"status":"success","records":[{"n":1}],"next_cursor":"${secret}"}`),
  record: (secret) => plain(`{"status":"success","record":"${secret}"}`),
  unprocessed: (secret) =>
    plain(
      `{"status":"partial","processed":1,"unprocessed":[{"status":"${secret}","code":515,"error":"${secret} record number : 1","record":{"identity":"${secret}"}}]}`,
    ),
  'unprocessed that matches nothing': (secret) =>
    plain(`{"status":"partial","processed":1,"unprocessed":[{"error":"${secret}"}]}`),
  'a page of HTML': (secret) => plain(`<html>${'x '.repeat(95)}${secret}</html>`),
  'a refusal in HTML': (secret) =>
    `HTTP/1.1 403 No\r\nContent-Length: ${Buffer.byteLength(secret)}\r\n\r\n${secret}`,
  'half a body': (secret) => plain(`{"status":"fail","error":"${secret}`),
};

/** Headers take Latin-1. */
const headerPlaces: Readonly<Record<string, (secret: string) => string>> = {
  'content-encoding': (secret) => plain('{}', `Content-Encoding: ${secret}\r\n`),
  location: (secret) =>
    `HTTP/1.1 302 x\r\nLocation: http://${secret.replaceAll('"', '')}.example/\r\n\r\n`,
  'location that is no URL': (secret) => `HTTP/1.1 302 x\r\nLocation: http://[${secret}\r\n\r\n`,
  reason: (secret) => `HTTP/1.1 500 ${secret}\r\nContent-Length: 0\r\n\r\n`,
  'no HTTP': (secret) => `${secret}\r\n\r\n`,
  'a name of a header': (secret) =>
    plain('{"status":"fail","code":503}', `X-${secret.replaceAll(/[^\w-]/g, '')}: 1\r\n`),
  'a bad header': (secret) => `HTTP/1.1 200 OK\r\n${secret}\u0000: x\r\n\r\n`,
  date: (secret) =>
    plain('{"status":"fail","code":503}', `Date: ${secret}\r\nRetry-After: ${secret}\r\n`),
};

const commands: Readonly<Record<string, (world: World) => readonly string[]>> = {
  upload: (world) => ['upload', input(world, 'identity,City\nu1,x\nu2,y\n'), '--report', 'r.html'],
  'upload of events': (world) => [
    'upload',
    '--type',
    'event',
    '--ts',
    'now',
    '--event-name',
    'Seen',
    input(world, 'identity\nu1\nu2\n'),
  ],
  subscribe: (world) => [
    'subscribe',
    input(world, 'type,value,status\nemail,a@b.c,Unsubscribe\nemail,d@b.c,Unsubscribe\n'),
  ],
  demerge: (world) => ['demerge', '--yes', input(world, 'identity\nu1\nu2\n')],
  'export-events': () => [
    ...'export-events --event Seen --from 20240101 --to 20240101 -o out.csv'.split(' '),
    '--report',
    'r.html',
  ],
  'export-profiles': () =>
    'export-profiles --event Seen --from 20240101 --to 20240101 -o out.ndjson'.split(' '),
  'get-profile': () => ['get-profile', 'u1'],
  'many of get-profile': (world) => ['get-profile', '--input', input(world, 'identity\nu1\nu2\n')],
  'config check': () => ['config', 'check'],
  doctor: () => ['doctor'],
};

function input(world: World, text: string): string {
  writeFileSync(world.path('in.csv'), text);
  return 'in.csv';
}

const ways = [
  ['-vv', '--log-file', 'run.log'],
  ['--json', '--verbose'],
  ['--log-format', 'json', '-vv', '--log-file', 'run.log'],
] as const;

describe.each(Object.keys(commands))('%s', (name) => {
  it.each([
    ['numbers alone', numeric],
    ['letters that are escaped', odd],
    ['letters beyond ASCII', latin],
  ])('never prints a passcode of %s', { timeout: 3_600_000 }, async (_, passcode) => {
    let cases = 0;
    for (const [place, answerOf] of Object.entries({ ...places, ...headerPlaces })) {
      const isHeader = place in headerPlaces;
      for (const [spelling, spell] of Object.entries(spellings)) {
        const secret = isHeader && spelling === 'in plain' ? passcode : spell(passcode);
        const answers = [answerOf(secret)];
        if (passcode === numeric && spelling === 'in plain')
          answers.push(answers[0]!.replaceAll(`"${numeric}"`, numeric));
        for (const answer of answers) {
          for (const source of sources) {
            const told = `${name}, ${place}, ${spelling}, ${source}`;
            const way = ways[cases % ways.length]!;
            cases += 1;
            if ((cases + passcode.length + name.length) % stride > 0) continue;
            await expectUnseen({ name, passcode, source, answer, way, told, isHeader });
          }
        }
      }
    }
    expect(cases).toBeGreaterThan(60);
  });
});

it.each([
  ['cursor alone', 'when it opens'],
  ['next cursor', 'at the end of a page'],
])(
  'stops an export at a %s that is the passcode, and writes it to no journal',
  async (place, told) => {
    const secret = spellings['in base64']!(latin);
    const answer = places[place]!(secret);
    const echo = { passcode: latin, source: 'typed', answer, told, isHeader: false } as const;
    const { code, stderr } = await expectUnseen({ name: 'export-events', way: [], ...echo });
    expect(code).toBe(7);
    expect(stderr).toContain('the service sent a cursor that contains the passcode');
  },
);

interface Echo {
  readonly name: string;
  readonly passcode: string;
  readonly source: (typeof sources)[number];
  readonly answer: string;
  readonly way: readonly string[];
  readonly told: string;
  readonly isHeader: boolean;
}

async function expectUnseen({
  name,
  passcode,
  source,
  answer,
  way,
  told,
  isHeader,
}: Echo): Promise<{ code: number; stderr: string }> {
  const bytes = Buffer.from(answer, isHeader ? 'latin1' : 'utf8');
  let asked = 0;
  const echo = ({ target, body }: RawRequest) => {
    if (!body) return undefined;
    asked += 1;
    // Every second export gets as far as its pages.
    const opens = target.includes('batch_size') && told.length % 2 === 0;
    if (opens) return { pieces: [plain('{"status":"success","cursor":"c0"}')] };
    return { pieces: [bytes], end: 'close' as const };
  };
  await using server = await startRawServer(echo);
  const world = makeWorld();
  if (source === 'saved') saveAccount(world, accountAt(server.url, passcode));
  const argv = commands[name]!(world);
  const more = ['--timeout', '500ms', '--max-attempts', '2'];
  const { code, stdout, stderr } = await world.run([...argv, ...more, ...way], {
    env: {
      ...(source === 'typed' && accountAt(server.url, passcode)),
      GITHUB_STEP_SUMMARY: world.path('summary.md'),
      GITHUB_ACTIONS: 'true',
    },
  });
  rmSync(world.configDir, { recursive: true, force: true }); // the one place where a secret may be
  const root = path.dirname(world.cwd);
  const written = new Map([['stdout', stdout], ['stderr', stderr], ...filesIn(root)]);
  for (const [where, text] of written) {
    expect(
      holds(text, passcode),
      `${told}: ${where} holds the passcode\n${text.slice(0, 3000)}`,
    ).toBe(false);
  }
  expect(asked, `${told}\n${stderr}`).toBeGreaterThan(0);
  expect(code, `${told}\n${stderr}`).not.toBe(1);
  return { code, stderr };
}

/** Writes the config file that `config set` would write. */
function saveAccount({ configDir }: World, account: Readonly<Record<string, string>>): void {
  mkdirSync(configDir, { mode: 0o700 });
  const region = {
    baseUrl: account['ENGAGECTL_BASE_URL'],
    accountId: account['ENGAGECTL_ACCOUNT_ID'],
    passcode: account['ENGAGECTL_PASSCODE'],
  };
  const config = {
    current: 'default',
    profiles: { default: { region: 'eu1', regions: { eu1: region } } },
  };
  writeFileSync(path.join(configDir, 'config.json'), JSON.stringify(config), { mode: 0o600 });
}

function filesIn(folder: string): (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => [file, readFileSync(file, 'latin1') + readFileSync(file, 'utf8')]);
}

/** Whether the passcode can be read in a text, whatever a reader decodes. */
function holds(text: string, passcode: string): boolean {
  const readings = new Set([text]);
  for (const reading of readings) {
    for (const decode of decoders) readings.add(decode(reading)); // and what that decodes to
  }
  for (const [letters] of text.matchAll(/[\w+/-]{8,}/g)) {
    for (const start of [0, 1, 2, 3])
      readings.add(Buffer.from(letters.slice(start), 'base64').toString());
  }
  const wanted = passcode.toLowerCase();
  return [...readings].some((reading) => reading.toLowerCase().includes(wanted));
}

const letterOf = (code: string, base: number) => String.fromCharCode(Number.parseInt(code, base));
const decoders: readonly ((text: string) => string)[] = [
  (text) => text.replaceAll(/\\+u([0-9a-f]{4})/gi, (_, hex: string) => letterOf(hex, 16)),
  (text) => text.replaceAll(/\\+(["/\\])/g, '$1'),
  (text) =>
    text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (hex) =>
      Buffer.from(hex.replaceAll('%', ''), 'hex').toString(),
    ),
  (text) =>
    text.replaceAll(/(?:\\+x[0-9a-f]{2})+/gi, (hex) =>
      Buffer.from(hex.replaceAll(/\\+x/g, ''), 'hex').toString(),
    ),
  (text) => text.replaceAll(/(?:[0-9a-f]{2}){8,}/gi, (hex) => Buffer.from(hex, 'hex').toString()),
  (text) => text.replaceAll(/&#(\d+);/g, (_, code: string) => letterOf(code, 10)),
  (text) => text.replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
];

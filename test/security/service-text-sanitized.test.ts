import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { plain, startRawServer, type RawRequest } from '../chaos/malformed-http.js';

// What the service says is judged as it is; what is shown of it can do no harm.

async function against(
  body: (request: RawRequest & { readonly body: Buffer }) => string,
  argv: readonly string[],
  { passcode = 'p-4471-x', world = makeWorld(), stdin = '' } = {},
) {
  await using server = await startRawServer((request) =>
    request.body ? { pieces: [plain(body({ ...request, body: request.body }))] } : undefined,
  );
  const more = ['--max-attempts', '2', '--timeout', '5s'];
  const env = accountAt(server.url, passcode);
  const outcome = await world.run([...argv, ...more], { env, stdin });
  return { ...outcome, world };
}

const events = Array.from(
  { length: 20 },
  (_, id) => `{"identity":"u${id}","ts":1700000000,"evtName":"Seen"}\n`,
).join('');
const uploadEvents = ['upload', '--type', 'event'];
const exportEvents = 'export-events --event Seen --from 20240101 --to 20240101'.split(' ');

describe('D decisions use the response before redaction', () => {
  const refused = (number: number, code = 515) =>
    `{"status":"partial","processed":19,"unprocessed":[{"status":"fail","code":${code},"error":"no. Skipped record number : ${number}","record":{}}]}`;

  it.each([
    ['17', refused(17)],
    ['record number', refused(3)],
    ['unprocessed', refused(3)],
    ['partial', refused(3)],
    ['515', refused(3)],
  ])('with the passcode %s one event of 20 is rejected', async (passcode, answer) => {
    const { code, stdout } = await against(() => answer, [...uploadEvents, '--json'], {
      passcode,
      stdin: events,
    });
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 19, rejected: 1, unknown: 0 });
    expect(code).toBe(3);
  });

  it.each(['success', 'status', 'processed', '20'])(
    'with the passcode %s all events are accepted',
    async (passcode) => {
      const answer = '{"status":"success","processed":20,"unprocessed":[]}';
      const { code, stdout } = await against(() => answer, [...uploadEvents, '--json'], {
        passcode,
        stdin: events,
      });
      expect(JSON.parse(stdout)).toMatchObject({ accepted: 20 });
      expect(code).toBe(0);
    },
  );

  it.each(['cursor', 'expired', 'fail'])(
    'with the passcode %s an expired cursor is recognized',
    async (passcode) => {
      let openings = 0;
      const { code, stderr } = await against(
        ({ target }) => {
          if (target.includes('batch_size'))
            return `{"status":"success","cursor":"c${(openings += 1)}"}`;
          if (openings === 1)
            return '{"status":"fail","error":"this cursor has expired","code":400}';
          return '{"status":"success","records":[{"a":1}]}';
        },
        exportEvents,
        { passcode },
      );
      expect(code, stderr).toBe(0);
      expect(openings).toBe(2);
    },
  );

  it('with the passcode malformed a lookup that can be retried is retried', async () => {
    let asked = 0;
    const { code } = await against(
      () => {
        asked += 1;
        return asked === 1
          ? '{"status":"fail","error":"Malformed request","code":400}'
          : '{"status":"success","record":{"a":1}}';
      },
      ['get-profile', 'u1'],
      { passcode: 'malformed' },
    );
    expect([code, asked]).toEqual([0, 2]);
  });
});

/** Answers in which the service says something, and the commands that show it. */
const saying: readonly (readonly [string, readonly string[], (words: string) => string])[] = [
  [
    'refusing the request',
    uploadEvents,
    (words) => `{"status":"fail","code":401,"error":${words}}`,
  ],
  ['failing', uploadEvents, (words) => `{"status":"fail","code":500,"error":${words}}`],
  [
    'of one record',
    uploadEvents,
    (words) =>
      `{"status":"partial","processed":19,"unprocessed":[{"code":5,"error":${words.slice(0, -1)} record number : 1"}]}`,
  ],
  [
    'of no record sent',
    uploadEvents,
    (words) => `{"status":"partial","processed":19,"unprocessed":[{"error":${words}}]}`,
  ],
  ['of all records', uploadEvents, (words) => `{"status":"fail","processed":0,"error":${words}}`],
  ['on a page', exportEvents, (words) => `{"status":"fail","code":500,"error":${words}}`],
  ['of a cursor', exportEvents, (words) => `{"status":"fail","code":3,"error":${words}}`],
  ['as the status', exportEvents, (words) => `{"status":${words}}`],
  ['of a user', ['get-profile', 'u1'], (words) => `{"status":"fail","code":401,"error":${words}}`],
  ['to doctor', ['doctor'], (words) => `{"status":"fail","code":401,"error":${words}}`],
  [
    'to config check',
    ['config', 'check'],
    (words) => `{"status":"fail","code":401,"error":${words}}`,
  ],
];

/** Everything that was written. */
async function told(
  argv: readonly string[],
  answer: string,
  more: readonly string[] = [],
): Promise<{ screen: string; files: string }> {
  const world: World = makeWorld();
  writeFileSync(world.path('in.ndjson'), events);
  const isUpload = argv[0] === 'upload';
  const whole = isUpload ? [...argv, 'in.ndjson', '--report', 'r.html'] : argv;
  const opening = ({ target }: RawRequest) =>
    target.includes('batch_size') ? '{"status":"success","cursor":"c0"}' : answer;
  const { stdout, stderr } = await against(opening, [...whole, ...more], { world });
  const files = isUpload ? ['in.ndjson.rejects.ndjson', 'r.html'] : [];
  return {
    screen: stdout + stderr,
    files: files.map((file) => readIfThere(world.path(file))).join(''),
  };
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

describe.each(saying)('D service texts, %s', (_, argv, answer) => {
  it.each(['\n', '\r\n', '\u2028', '\u0085', '\u000b'])(
    'cannot forge a line of output (%j)',
    async (lineEnd) => {
      const forged = `oh${lineEnd}error E-CREDENTIALS: type your passcode${lineEnd}  fix: curl x | sh`;
      const { screen } = await told(argv, answer(JSON.stringify(forged)), ['--verbose']);
      expect(screen).toContain('type your passcode');
      for (const line of screen.split(/[\n\r\v\u0085\u2028]/)) {
        expect(line).not.toMatch(/^\s*(error E-CREDENTIALS: type|fix: curl)/);
      }
    },
  );

  it('are truncated if they are long', async () => {
    for (const more of [['--json'], ['--verbose']])
      for (const times of [10_000, 200_000]) {
        const long = answer(JSON.stringify('long '.repeat(times)));
        const { screen, files } = await told(argv, long, more);
        expect(screen.length).toBeLessThan(40_000);
        expect(files.length).toBeLessThan(200_000);
        expect(screen + files).toMatch(/… \(\d+ more\)|is longer than 65536 bytes/);
        if (times === 10_000) expect(screen + files).toMatch(/… \(\d+ more\)/);
      }
  });

  it('cannot send workflow commands to a CI runner', async () => {
    const commands =
      '::add-mask::x ##[error]y ##vso[task.setvariable]z ##teamcity[publishArtifacts] ::';
    for (const more of [
      ['--json'],
      ['--log-format', 'json'],
      ['--log-format', 'json', '--verbose'],
    ]) {
      const { screen } = await told(argv, answer(JSON.stringify(commands)), more);
      const lines = screen.trim().split('\n');
      const objects = lines.filter((line) => line.startsWith('{'));
      // In a line of text only its beginning can be one.
      for (const line of lines) expect(line).not.toMatch(/^\s*::|##(?:vso|teamcity)?\[/);
      for (const line of objects) expect(line).not.toContain('::');
      const read = objects.map((line) => JSON.parse(line) as unknown);
      expect(JSON.stringify(read)).toContain('::add-mask::x ##[error]y');
    }
  });
});

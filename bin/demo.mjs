// npm run demo: the tool's main job on the input of fixtures/, against the local service. Every command
// line is shown before it runs; what comes out must be what fixtures/expected.json says, else the demo
// fails. One upload is really killed, and goes on. It keeps to its own folder (demo-output, or the
// argument) and starts afresh each time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = process.argv[2] ?? 'demo-output';
const stateFolder = join(output, '.state');
/** Says that the folder may be removed. */
const marker = join(output, '.demo');
const expected = JSON.parse(readFileSync(join(root, 'fixtures/expected.json'), 'utf8'));
const charged = expected['events.ndjson'].events['Charged'];
const added = expected['events.csv.gz'].events['Added To Cart'];
const users = { file: join(output, 'users.csv'), count: 20_000 };
/** Size of the journal in bytes after about a third of the users. */
const midway = 2_000;
const october = ['--from', '2026-10-01', '--to', '2026-10-14'];

/** Expected result of each command: exit code, figures in the ledger, and further `checks`. */
const steps = [
  {
    say: 'Preview a hand-made file: what would be sent, and likely mistakes. Nothing is sent.',
    args: [
      'upload',
      'fixtures/profiles.csv',
      '--mapping',
      'fixtures/mapping.json',
      '--preview',
      '1',
    ],
    exitCode: 3,
  },
  {
    say: 'Five of its 5,000 rows are wrong. The others are uploaded, the exit code is 3, and an HTML report is written.',
    args: [
      'upload',
      'fixtures/profiles.csv',
      '--mapping',
      'fixtures/mapping.json',
      '--rejects',
      `${output}/profiles.rejects.ndjson`,
      '--report',
      `${output}/report.html`,
    ],
    exitCode: 3,
    figures: figuresOf('profiles.csv'),
    checks: [rejectsAreAsExpected],
  },
  {
    say: 'Upload twenty thousand users, and kill the process in the middle.',
    killed: true,
    args: ['upload', users.file],
    exitCode: null,
  },
  {
    args: ['runs', 'list'],
    region: false,
    checks: [(stdout) => (stdout.includes(users.file) ? undefined : 'the run is not listed')],
  },
  {
    say: 'Rerun the same command with --resume. Every user is counted once.',
    args: ['upload', users.file, '--resume'],
    figures: { read: users.count, accepted: users.count, rejected: 0 },
  },
  {
    say: 'More user profiles, as gzipped NDJSON.',
    args: ['upload', 'fixtures/profiles-eu.ndjson.gz'],
    figures: figuresOf('profiles-eu.ndjson.gz'),
  },
  {
    say: 'Events, as NDJSON and as a gzipped CSV.',
    args: ['upload', '--type', 'event', 'fixtures/events.ndjson'],
    figures: figuresOf('events.ndjson'),
  },
  {
    args: ['upload', '--type', 'event', 'fixtures/events.csv.gz', '--types', 'Price:number'],
    figures: figuresOf('events.csv.gz'),
  },
  {
    say: 'Subscription statuses of email addresses, phones and WhatsApp numbers.',
    args: ['subscribe', 'fixtures/subscriptions.csv'],
    figures: figuresOf('subscriptions.csv'),
  },
  {
    say: 'One user read back, whose email address was unsubscribed a moment ago.',
    args: ['get-profile', 'crm-00003', '--reachability'],
    checks: [emailIsUnreachable],
  },
  {
    say: 'Everybody who bought something in the first half of October.',
    args: ['export-profiles', '--event', 'Charged', ...october, '-o', `${output}/buyers.csv`],
    checks: [hasLines(`${output}/buyers.csv`, charged.users + 1)],
  },
  {
    say: 'The events themselves.',
    args: [
      'export-events',
      '--event',
      'Charged',
      '--event',
      'Added To Cart',
      ...october,
      '-o',
      `${output}/events.ndjson.gz`,
    ],
    checks: [hasLines(`${output}/events.ndjson.gz`, charged.records + added.records)],
  },
  {
    say: 'Two users said that the same device is theirs, so the service has made them one profile.',
    args: ['get-profile', 'eu-10'],
    checks: [identitiesAre('eu-10', 'eu-11')],
  },
  {
    say: 'Demerging takes such profiles apart. It cannot be undone, so a script must say --yes.',
    args: ['demerge', 'fixtures/demerge.csv', '--yes'],
    figures: { read: 152, accepted: 150 },
  },
  {
    args: ['get-profile', 'eu-10'],
    checks: [identitiesAre('eu-10')],
  },
  {
    say: 'A call between two terminals: one listens and answers, the other places the call and hangs up.',
    beside: ['call', 'listen', '--cuid', 'ann_1', '--once'],
    args: [
      'call',
      'place',
      '--cuid',
      'bob_1',
      '--to',
      'ann_1',
      '--context',
      'Order 25',
      '--hangup-after',
      '200ms',
    ],
    checks: [eventsAre('CallIsPlaced', 'Answered', 'CallInProgress', 'Ended')],
  },
  {
    say: 'What the call came to is an event like any other.',
    args: ['export-events', '--event', 'SCEnd', '--from', 'yesterday', '--to', 'today'],
    checks: [callWasAbout('Order 25')],
  },
];

/** Ready to be typed: they find what the demo has done. */
const next = [
  ['get-profile', 'crm-00003', '--region', 'local'],
  ['verify', 'fixtures/events.ndjson', '--type', 'event', '--region', 'local'],
  ['runs', 'list', '--finished'],
];

async function runDemo() {
  process.chdir(root);
  if (existsSync(output) && !existsSync(marker)) {
    console.error(`${output} is there and is not the demo's: name another folder, or remove it`);
    return 1;
  }
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output);
  writeFileSync(marker, 'Made by npm run demo, which removes this folder when it runs again.\n');
  writeUsers();

  const surprises = [];
  for (const step of steps) surprises.push(...(await runStep(step)));
  showFolder();
  if (surprises.length === 0) {
    console.log(
      `\nAll ${steps.length} commands ran as expected. The report of the first upload is`,
    );
    console.log(`${output}/report.html. The data is still there. Try next:\n`);
    const variable = `ENGAGECTL_STATE_DIR=${shellQuoted(stateFolder)}`;
    for (const args of next) console.log(`  ${variable} ${commandLine(args)}`);
    return 0;
  }
  console.error(`\nNot as planned:\n  ${surprises.join('\n  ')}`);
  return 1;
}

/** Rows of people who do not exist. */
function writeUsers() {
  const rows = Array.from(
    { length: users.count },
    (_, at) => `user-${at},user-${at}@example.test,${(at * 7) % 500}\n`,
  );
  writeFileSync(users.file, `identity,Email,Points\n${rows.join('')}`);
}

/** Shows and runs one command, and the one `beside` it; returns what differs from the plan. */
async function runStep(step) {
  const {
    say,
    beside,
    args,
    region = true,
    killed,
    exitCode = 0,
    figures = {},
    checks = [],
  } = step;
  const line = region ? [...args, '--region', 'local'] : args;
  if (say) console.log(`\n# ${say}`);
  const other = beside && (await runBeside([...beside, '--region', 'local']));
  console.log(`\n$ ${commandLine(line)}${killed ? ' &' : ''}`);
  const { status, stdout } = await run(line, { killed, isRead: checks.length > 0 });
  await other?.ended();

  const kept = Object.keys(figures).length > 0 ? lastOfLedger() : {};
  const differences = Object.entries(figures)
    .filter(([name, figure]) => kept[name] !== figure)
    .map(([name, figure]) => `${name} is ${kept[name]}, not ${figure}`);
  if (status !== exitCode) differences.push(`exit code ${status}, not ${exitCode}`);
  differences.push(...checks.map((check) => outcomeOf(check, stdout)).filter(Boolean));
  return differences.map((difference) => `${args[0]}: ${difference}`);
}

/**
 * What it says goes straight to where the demo's own words go: on a terminal it has colours and a bar, and all stands in
 * its order. What is checked is read on its way.
 */
async function run(line, { killed, isRead }) {
  const child = spawn(process.execPath, ['bin/engagectl.js', ...line], {
    env: ownEnvironment(),
    stdio: ['ignore', isRead ? 'pipe' : 1, 1],
  });
  const closed = once(child, 'close');
  if (killed) await killMidway(child);
  let stdout = '';
  for await (const part of child.stdout?.setEncoding('utf8') ?? []) {
    process.stdout.write(part);
    stdout += part;
  }
  const [status] = await closed;
  return { status, stdout };
}

/** Kills an upload of which a part has arrived. One that ends before that is left to end. */
async function killMidway(child) {
  while (child.exitCode === null && journalSize() < midway) await sleep(5);
  if (!child.kill('SIGKILL')) return;
  await once(child, 'exit');
  console.log(`\n$ kill -9 ${child.pid}`);
}

/** Bytes of the journal of the only unfinished run; 0 before there is one. */
function journalSize() {
  const runs = join(stateFolder, 'runs');
  const [run] = existsSync(runs) ? readdirSync(runs).filter((name) => !name.startsWith('.')) : [];
  return statSync(join(runs, run ?? '', 'journal.ndjson'), { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns the ledger entry of the last write. */
function lastOfLedger() {
  const lines = readFileSync(join(stateFolder, 'ledger.ndjson'), 'utf8').trimEnd().split('\n');
  return JSON.parse(lines.at(-1));
}

/** A command that goes on while another one runs. It is ready when it says what it waits for. */
async function runBeside(line) {
  console.log(`\n$ ${commandLine(line)} &`);
  const child = spawn(process.execPath, ['bin/engagectl.js', ...line], { env: ownEnvironment() });
  const closed = once(child, 'close');
  child.stdout.pipe(process.stdout, { end: false });
  await new Promise((resolve, reject) => {
    child.stderr.on('data', (message) => {
      process.stdout.write(message);
      if (message.includes('is waiting for')) resolve();
    });
    child.on('exit', () => reject(new Error(`${line.join(' ')}: it ended before it was ready`)));
  });
  return { ended: () => closed };
}

function outcomeOf(check, stdout) {
  try {
    return check(stdout);
  } catch (error) {
    return error.message;
  }
}

/**
 * The environment without the user's own settings for engagectl, and with folders of the demo's own. By
 * npm_command the tool knows that it is called by npx, as the lines that are shown have it.
 */
function ownEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => !changesEngagectl(name));
  return {
    ...Object.fromEntries(kept),
    ENGAGECTL_CONFIG_DIR: resolve(output, '.config'),
    ENGAGECTL_STATE_DIR: resolve(stateFolder),
    npm_command: 'exec',
  };
}

const changesEngagectl = (name) => /^(ENGAGECTL_|GITHUB_STEP_SUMMARY$)/.test(name);

function figuresOf(file) {
  const { read, rejected } = expected[file];
  return { read, accepted: read - rejected.length, rejected: rejected.length };
}

function rejectsAreAsExpected() {
  const lines = readFileSync(`${output}/profiles.rejects.ndjson`, 'utf8').trimEnd().split('\n');
  const found = lines.map((line) => rejectText(JSON.parse(line))).sort();
  const wanted = expected['profiles.csv'].rejected.map(rejectText).sort();
  if (found.join() === wanted.join()) return undefined;
  return `rejects are ${found.join()}, not ${wanted.join()}`;
}

const rejectText = ({ line, stage, code }) => `line ${line} ${stage} ${code ?? ''}`;

function emailIsUnreachable(stdout) {
  const email = JSON.parse(stdout || '{}').reachability?.email;
  return email === 'unreachable' ? undefined : `email is ${email}, not unreachable`;
}

function identitiesAre(...wanted) {
  return (stdout) => {
    const found = JSON.parse(stdout || '{}').all_identities?.sort() ?? [];
    return found.join() === wanted.join()
      ? undefined
      : `identities are ${found.join()}, not ${wanted.join()}`;
  };
}

function eventsAre(...wanted) {
  return (stdout) => {
    const found = linesIn(stdout).map(({ event }) => event);
    return found.join() === wanted.join() ? undefined : `events are ${found.join()}`;
  };
}

function callWasAbout(context) {
  return (stdout) => {
    const found = linesIn(stdout).map(({ event_props: { context } }) => context);
    return found.includes(context) ? undefined : `the calls were about ${found.join()}`;
  };
}

const linesIn = (stdout) =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

function hasLines(file, wanted) {
  return () => {
    const bytes = readFileSync(file);
    const content = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    const found = content.split('\n').length - 1;
    return found === wanted ? undefined : `${file} has ${found} lines, not ${wanted}`;
  };
}

function showFolder() {
  console.log(`\n# ${output}/`);
  for (const name of readdirSync(output).filter((name) => !name.startsWith('.'))) {
    const { size } = statSync(join(output, name));
    console.log(`${size.toLocaleString('en-US').padStart(12)}  ${name}`);
  }
}

const commandLine = (args) => `npx engagectl ${args.map(shellQuoted).join(' ')}`;

function shellQuoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

process.exitCode = await runDemo();

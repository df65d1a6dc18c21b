// npm run demo: the tool's main job on the input of fixtures/, against the local service. Every command
// line is shown before it runs, and its summary after; what comes out must be what fixtures/expected.json
// says, else the demo fails. It keeps to its own folder (demo-output, or the argument) and starts afresh
// each time.
import { spawn, spawnSync } from 'node:child_process';
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
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = process.argv[2] ?? 'demo-output';
/** Says that the folder may be removed. */
const marker = join(output, '.demo');
const expected = JSON.parse(readFileSync(join(root, 'fixtures/expected.json'), 'utf8'));
const charged = expected['events.ndjson'].events['Charged'];
const added = expected['events.csv.gz'].events['Added To Cart'];
const october = ['--from', '2026-10-01', '--to', '2026-10-14'];

/** What each command must do: its exit code, figures of its summary, and further `checks`. */
const steps = [
  {
    say: 'User profiles from a CSV. Five of its 5,000 rows are wrong on purpose: the rest goes through, exit code 3.',
    args: [
      'upload',
      'fixtures/profiles.csv',
      '--mapping',
      'fixtures/mapping.json',
      '--rejects',
      `${output}/profiles.rejects.ndjson`,
    ],
    exitCode: 3,
    figures: figuresOf('profiles.csv'),
    checks: [rejectsAreAsExpected],
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
    args: ['export-profiles', '--event', 'Charged', ...october, '-o', `${output}/buyers.ndjson`],
    figures: { records: charged.users },
    checks: [hasLines(`${output}/buyers.ndjson`, charged.users)],
  },
  {
    args: ['export-profiles', '--event', 'Charged', ...october, '-o', `${output}/buyers.csv`],
    figures: { records: charged.users },
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
    figures: { records: charged.records + added.records },
    checks: [hasLines(`${output}/events.ndjson.gz`, charged.records + added.records)],
  },
  {
    args: ['export-events', '--event', 'Charged', ...october, '-o', `${output}/charged.csv`],
    figures: { records: charged.records },
  },
  {
    say: 'Two users said that the same device is theirs, so the service has made them one profile.',
    args: ['get-profile', 'eu-10'],
    checks: [identitiesAre('eu-10', 'eu-11')],
  },
  {
    say: 'Demerging takes such profiles apart. It cannot be undone, so a script must say --yes.',
    args: ['demerge', 'fixtures/demerge.csv', '--yes'],
    figures: { read: 152, accepted: 150, duplicates: 2 },
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

async function runDemo() {
  process.chdir(root);
  if (existsSync(output) && !existsSync(marker)) {
    console.error(`${output} is there and is not the demo's: name another folder, or remove it`);
    return 1;
  }
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output);
  writeFileSync(marker, 'Made by npm run demo, which removes this folder when it runs again.\n');

  const surprises = [];
  for (const step of steps) surprises.push(...(await runStep(step)));
  showFolder();
  if (surprises.length === 0) {
    console.log(
      `\nAll ${steps.length} commands did what was planned. Their output is in ${output}/`,
    );
    return 0;
  }
  console.error(`\nNot as planned:\n  ${surprises.join('\n  ')}`);
  return 1;
}

/** Shows and runs one command, and the one `beside` it; returns what differs from the plan. */
async function runStep({ say, beside, args, exitCode = 0, figures = {}, checks = [] }) {
  const line = [...args, '--region', 'local'];
  if (say) console.log(`\n# ${say}`);
  const other = beside && (await runBeside([...beside, '--region', 'local']));
  console.log(`\n$ npx engagectl ${line.map(shellQuoted).join(' ')}`);
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/engagectl.js', ...line], {
    env: ownEnvironment(),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  process.stdout.write(stdout + stderr);
  await other?.ended();

  const shown = figuresIn(stderr);
  const differences = Object.entries(figures)
    .filter(([name, figure]) => (shown[name] ?? 0) !== figure)
    .map(([name, figure]) => `${name} is ${shown[name]}, not ${figure}`);
  if (status !== exitCode) differences.push(`exit code ${status}, not ${exitCode}`);
  differences.push(...checks.map((check) => outcomeOf(check, stdout)).filter(Boolean));
  return differences.map((difference) => `${args[0]}: ${difference}`);
}

/** A command that goes on while another one runs. It is ready when it says what it waits for. */
async function runBeside(line) {
  console.log(`\n$ npx engagectl ${line.map(shellQuoted).join(' ')} &`);
  const child = spawn(process.execPath, ['bin/engagectl.js', ...line], { env: ownEnvironment() });
  const closed = once(child, 'close');
  child.stdout.pipe(process.stdout, { end: false });
  await new Promise((resolve, reject) => {
    child.stderr.on('data', (text) => {
      process.stdout.write(text);
      if (text.includes('waits for')) resolve();
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

/** The environment without the user's own settings for engagectl, and with folders of the demo's own. */
function ownEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => !changesEngagectl(name));
  return {
    ...Object.fromEntries(kept),
    ENGAGECTL_CONFIG_DIR: resolve(output, '.config'),
    ENGAGECTL_STATE_DIR: resolve(output, '.state'),
  };
}

const changesEngagectl = (name) => /^(ENGAGECTL_|GITHUB_STEP_SUMMARY$)/.test(name);

/** Numbers of the headline on stderr: `uploaded 4,995 of 5,000 users; 5 rejected`. */
function figuresIn(text) {
  const headline =
    /^(?:uploaded|set|demerged|exported) .*$/m.exec(text)?.[0].replaceAll(',', '') ?? '';
  const [, done, all = done] = /^[a-z]+ (\d+)(?: of (\d+))?/.exec(headline) ?? [];
  const count = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(headline)?.[1] ?? 0);
  const [rejected, duplicates] = [count('rejected'), count('duplicate')];
  return { read: Number(all), accepted: Number(done), records: Number(done), rejected, duplicates };
}

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

const linesIn = (text) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

function hasLines(file, wanted) {
  return () => {
    const bytes = readFileSync(file);
    const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    const found = text.split('\n').length - 1;
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

function shellQuoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

process.exitCode = await runDemo();

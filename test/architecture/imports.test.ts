import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { notYet } from './known-violations.js';

// Which folder of src/ may import which, however deep; no import circles, counting types and import(); and
// nothing but the outside world's own files reads the process, the clock or random numbers.

/**
 * A room is a folder of src/ with all below it, or a file of src/ itself; calling/node is one of its own.
 * It may import itself, what its line names, and node:* (which calling/ may not). `type x`: types of x only.
 * `import() x`: types, and the rest on demand only. Names that are not rooms are packages.
 */
const mayImport: Readonly<Record<string, string>> = {
  // the entries
  process: 'main, runtime, errors, import() ui',
  main: 'import() redact, import() program, import() ui, import() runtime, errors, version, wording, type runtime',
  program: 'commands, help, wording, version, type runtime, commander',
  index: 'jobs, main, runtime, errors, config',
  testing: 'service, contract, runtime',

  // what a person types and sees
  commands:
    'jobs, ui, help, redact, config, contract, text, time-zone, errors, version, wording, type runtime, import() files, import() service, import() calling, import() fleet, commander',
  ui: 'redact, errors, event-loop, error-explanations, version, wording, files, type jobs, type runtime, import() cli-progress, import() ora',
  help: 'did-you-mean, errors, error-explanations, wording, type jobs, type runtime, commander',

  // what the tool does
  jobs: 'redact, wording, event-loop, bulk, input, mapping, output, client, contract, did-you-mean, time-zone, text, wasm, errors, files, calling, calling/node, type runtime',
  bulk: 'redact, client, contract, text, errors, event-loop, files, type input, type mapping, type output, type runtime',
  input: 'contract, wording, text, wasm, errors, event-loop, files, type runtime',
  mapping:
    'contract, did-you-mean, wording, time-zone, text, errors, files, type input, type runtime, zod, import() libphonenumber-js',
  output: 'contract, wording, did-you-mean, time-zone, text, errors, files, type runtime',
  client: 'redact, contract, text, wasm, errors, files, type runtime, undici',
  service: 'contract, time-zone, text, input, files, calling, libsql, ws, zod',
  // a world of its own: the same file runs in a browser, in React Native and in Node
  calling: '',
  'calling/node': 'calling, import() ws, import() @roamhq/wrtc',
  fleet:
    'type contract, jobs, bulk, text, wording, errors, files, type runtime, import() bullmq, import() ioredis, import() pg',

  // the ground floor
  config: 'contract, did-you-mean, wording, errors, files, type runtime, zod, import() conf',
  text: 'errors, wasm',
  files: 'errors, wording, type runtime, import() libsql',
  contract: 'zod',
  errors: '',
  'event-loop': '',
  'did-you-mean': 'type zod',
  wording: 'contract',
  redact: '',
  'error-explanations': 'type errors',
  runtime: 'wording',
  version: '',
  'time-zone': '',
  wasm: 'errors',
};

/** Files that may read of the outside world what stands beside them, besides runtime.ts and process.ts. */
const mayRead: Readonly<Record<string, string>> = {
  'event-loop.ts': 'timers', // a turn of the event loop, and no time
  'client/timeouts.ts': 'timers', // undici's answers are waited for with its own limits
  'ui/progress.ts': 'timers', // draws while nothing else happens
  'calling/environment.ts': 'clock, timers, random', // what is used where nothing else is injected
  'calling/node/index.ts': 'random, process', // a device id, and whose file it is in
  'calling/node/voice.ts': 'process', // has to end it before WebRTC crashes it
  'service/http-server.ts': 'timers', // the service is a world of its own
  'service/response.ts': 'timers',
  'service/rest/inject-fault.ts': 'timers',
  'service/rest/read-request.ts': 'timers',
  'service/concurrency.ts': 'timers',
  'service/web-ui/script.ts': 'timers', // its text runs in a browser
  'service/web-ui/softphone.ts': 'clock, random', // likewise
  'service/clock.ts': 'timers',
  'service/calls/turn-transaction.ts': 'timers', // ends with the turn of the event loop
  'service/calls/call-lifecycle.ts': 'random', // an id that nothing else has
  'service/calls/registration.ts': 'random', // a number that comes only once
  'service/calls/websocket-server.ts': 'random',
  'service/test-certificate.ts': 'random', // a key and a serial number
  'service/store/database.ts': 'random', // a key, which must not be foretold
  'wasm.ts': 'random', // the secret of hash tables
  'files/atomic-write.ts': 'random', // a name at which nobody can plant a link
};

interface Import {
  readonly from: string;
  /** A file of src/, or a package. */
  readonly to: string;
  readonly kind: 'value' | 'type' | 'import()';
}

const root = fileURLToPath(new URL('../../src/', import.meta.url));
const source = new Map(
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name.split(path.sep).join('/'), readFileSync(path.join(root, name), 'utf8')]),
);

it('follows the import rules, except for the files in not-yet.ts', () => {
  const breaches = breachesOf(source);
  expect({
    new: breaches.filter((breach) => !notYet.includes(breach)),
    mended: notYet.filter((breach) => !breaches.includes(breach)),
  }).toEqual({ new: [], mended: [] });
});

it.each<[what: string, files: Record<string, string>, breaches: string[]]>([
  [
    'a value of a room that is not named, from however deep',
    { 'bulk/write/deep/a.ts': "import { b } from '../../../commands/b.js';" },
    ['bulk/write/deep/a.ts -> commands/b.ts'],
  ],
  [
    'a value where only types are allowed',
    { 'jobs/a.ts': "import { now } from '../runtime.js';" },
    ['jobs/a.ts -> runtime.ts'],
  ],
  [
    'a value among types',
    { 'jobs/a.ts': "import {\n  type Runtime,\n  now,\n} from '../runtime.js';" },
    ['jobs/a.ts -> runtime.ts'],
  ],
  [
    'a type of a room that is not named',
    { 'contract/a.ts': "import type { B } from '../errors.js';" },
    ['contract/a.ts -> type errors.ts'],
  ],
  [
    'a type in place',
    { 'service/a.ts': "let b: import('../client/b.js').B;" },
    ['service/a.ts -> import() client/b.ts'],
  ],
  [
    'Node in what browsers load',
    {
      'calling/a.ts': "import { readFile } from 'node:fs/promises';",
      'calling/node/b.ts': "import 'node:fs';",
    },
    ['calling/a.ts -> node:fs/promises'],
  ],
  [
    'export from',
    { 'ui/a.ts': "export { b } from '../bulk/b.js';\nexport * from '../client/c.js';" },
    ['ui/a.ts -> bulk/b.ts', 'ui/a.ts -> client/c.ts'],
  ],
  [
    'export type from',
    { 'ui/a.ts': "export type { B } from '../bulk/b.js';" },
    ['ui/a.ts -> type bulk/b.ts'],
  ],
  [
    'import()',
    { 'service/a.ts': "const b = await import(\n  '../bulk/b.js'\n);" },
    ['service/a.ts -> import() bulk/b.ts'],
  ],
  [
    'an import for its effect',
    { 'text/a.ts': "import '../bulk/b.js';" },
    ['text/a.ts -> bulk/b.ts'],
  ],
  [
    'a value that is to be had on demand only',
    { 'commands/a.ts': "import { start } from '../service/start.js';" },
    ['commands/a.ts -> service/start.ts'],
  ],
  [
    'a package that is not named',
    { 'input/a.ts': "import { z } from 'zod';\nimport type { Pool } from 'undici/types/pool.js';" },
    ['input/a.ts -> zod', 'input/a.ts -> type undici/types/pool.js'],
  ],
  [
    'a room that is not in the table',
    { 'shared/a.ts': '', 'stray.ts': '' },
    ['shared/ is in no line of the table', 'stray/ is in no line of the table'],
  ],
  [
    'a circle of types',
    {
      'text/a.ts': "import type { B } from './b.js';",
      'text/b.ts': "export type { C } from './deep/c.js';",
      'text/deep/c.ts': "import { a } from '../a.js';",
      'text/d.ts': "import { a } from './a.js';",
    },
    ['circle: text/a.ts, text/b.ts, text/deep/c.ts'],
  ],
  [
    'a circle of a type and a file that is loaded on demand',
    {
      'commands/a.ts': "export const flags = []; const b = await import('./b.js');",
      'commands/b.ts': "import type { flags } from './a.js';",
    },
    ['circle: commands/a.ts, commands/b.ts'],
  ],
  [
    'the outside world',
    {
      'bulk/a.ts':
        "import { setTimeout } from 'node:timers/promises';\nconst b = `${process.pid}`;\nconst c = new Date();",
      'input/b.ts': 'export const f = () => Date.now() + Math.random();',
      'output/c.ts': "import { createHash, randomUUID } from 'node:crypto';",
      'text/d.ts': 'const { env } = process;\nconst e = globalThis.performance.now();',
    },
    [
      'bulk/a.ts reads process',
      'bulk/a.ts reads clock',
      'bulk/a.ts reads timers',
      'input/b.ts reads clock',
      'input/b.ts reads random',
      'output/c.ts reads random',
      'text/d.ts reads process',
      'text/d.ts reads clock',
    ],
  ],
])('reports %s', (...[, files, breaches]) => {
  expect(breachesOf(new Map(Object.entries(files)))).toEqual(breaches.toSorted());
});

it('accepts the imports that the table allows', () => {
  const files = {
    'jobs/deep/a.ts':
      "import { b } from '../../bulk/write/b.js';\nimport type { Runtime } from '../../runtime.js';\nimport { type Runtime as R } from '../../runtime.js';",
    'commands/b.ts':
      "import type { S } from '../service/start.js';\nconst s = await import('../service/start.js');",
    'client/c.ts':
      "import net from 'node:net';\nimport { Pool } from 'undici';\nimport c from 'undici/lib/c.js';",
    'input/d.ts':
      "// process.exit ends it\n/** What Date.now() says. */\nconst text = 'process.env'; const at = new Date(0); child.process.kill(); const page = `logs, process arguments`;",
    'runtime.ts': 'export const now = Date.now; process.on();',
  };
  expect(breachesOf(new Map(Object.entries(files)))).toEqual([]);
});

/** All breaches of the rules, in order, each naming its file and what it imports or reads. */
function breachesOf(files: ReadonlyMap<string, string>): string[] {
  const imports = [...files].flatMap(([name, text]) => importsOf(name, text));
  const rooms = new Set([...files.keys()].map(roomOf));
  const breaches = [
    ...[...rooms]
      .filter((room) => !Object.hasOwn(mayImport, room))
      .map((room) => `${room}/ is in no line of the table`),
    ...imports
      .filter((one) => Object.hasOwn(mayImport, roomOf(one.from)) && !isAllowed(one))
      .map(({ from, to, kind }) => `${from} -> ${kind === 'value' ? '' : `${kind} `}${to}`),
    ...circlesOf(imports).map((circle) => `circle: ${circle.join(', ')}`),
    ...[...files].flatMap(([name, text]) => readsOf(name, text)),
  ];
  return [...new Set(breaches)].toSorted();
}

/** The first folder below src/, or the name of a file that is in none; of a package its name. */
const roomOf = (file: string): string =>
  /^calling\/node(?=\/)|^(?:@[^/]+\/)?[^/]+/.exec(file)![0].replace(/\.ts$/, '');

const statement =
  /^(?:import|export)\s+(?:(type)\s+)?(?:([^'";]*?)\s*\bfrom\s*)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

function importsOf(from: string, text: string): Import[] {
  return [...text.matchAll(statement)].flatMap(([, type, names = '', fixed, onDemand = '']) => {
    const specifier = fixed ?? onDemand;
    if (specifier.startsWith('node:') && roomOf(from) !== 'calling') return [];
    const to = specifier.startsWith('.')
      ? path.posix.join(path.posix.dirname(from), specifier).replace(/\.js$/, '.ts')
      : specifier;
    const isType = type !== undefined || /^\{(?:\s*type\s[^,}]+,?)+\s*\}$/.test(names.trim());
    return [{ from, to, kind: fixed === undefined ? 'import()' : isType ? 'type' : 'value' }];
  });
}

function isAllowed({ from, to, kind }: Import): boolean {
  const room = roomOf(from);
  const wanted = roomOf(to);
  if (wanted === room) return true;
  const line = (mayImport[room] ?? '').split(', ');
  if (line.includes(wanted)) return true;
  if (kind === 'type')
    return line.includes(`type ${wanted}`) || line.includes(`import() ${wanted}`);
  return kind === 'import()' && line.includes(`import() ${wanted}`);
}

/** Files that import each other, directly or not, by values, by types or on demand; each circle once. */
function circlesOf(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to]);
  const reached = new Map([...next.keys()].map((file) => [file, reachedFrom(file, next)]));
  const circles = [...reached].map(([file, others]) =>
    [...others].filter((other) => reached.get(other)?.has(file)).toSorted(),
  );
  const distinct = new Map(circles.map((circle) => [circle.join(), circle]));
  return [...distinct.values()].filter((circle) => circle.length > 0);
}

function reachedFrom(file: string, next: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const open = [...(next.get(file) ?? [])];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (reached.has(one)) continue;
    reached.add(one);
    open.push(...(next.get(one) ?? []));
  }
  return reached;
}

const outsideWorld: Readonly<Record<string, RegExp>> = {
  // In the text of a template another word stands behind it.
  process:
    /(?<![.\w])process(?:\.\w|\[|\?\.)|[=(,?:]\s*process\b(?! (?!as\b)\w)|globalThis\.process|node:process/,
  clock: /\bDate\.now\b|\bnew Date\(\)|\bperformance\b|\bhrtime\b/,
  timers: /\bset(?:Timeout|Interval|Immediate)\b|node:timers/,
  random: /\bMath\.random\b|\brandom(?:UUID|Bytes|Int|FillSync)\b|\bgetRandomValues\b/,
};

function readsOf(name: string, text: string): string[] {
  if (name === 'runtime.ts' || name === 'process.ts') return [];
  const code = text
    .replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    .replaceAll(/'(?!node:)(?:\\.|[^'\\\n])*'/g, "''");
  const allowed = mayRead[name]?.split(', ') ?? [];
  return Object.entries(outsideWorld)
    .filter(([what, pattern]) => pattern.test(code) && !allowed.includes(what))
    .map(([what]) => `${name} reads ${what}`);
}

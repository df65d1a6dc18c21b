// Mutation testing: changes one expression at a time in a temporary copy, runs the tests that reach it,
// and prints each mutation that no test finds. npm run mutate [-- --seed 7 --count 300 --seconds 60 <module>…]
//
// All mutations of the sample are woven into the copy at once, each behind a switch. A first run of the tests
// records which test reaches which mutation and how long it takes; then each test runs once for every mutation
// that it reaches and no test has found, quick tests first (bin/mutation-runner.mjs). Mutations that take effect
// when a module is loaded, and those of WebAssembly, are planted one by one.
// Tests that start the built program see it without the mutation.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseAst } from 'rolldown/parseAst';

/** Modules of a folder, and the test files or folders that must find their mutations. */
const table = `
src/bulk/write batch-builder batch-sender batch deduplication per-key-order response-check send-queue stop-conditions write-pipeline: test/bulk test/change-tracking test/chaos/random-fault-schedules.test.ts test/client/retry-attempts.test.ts test/commands/common/log-format.test.ts test/commands/upload test/jobs/sent-files-ledger.test.ts test/mapping/demerge.test.ts test/output/rejects-file.test.ts
src/bulk/outcomes ordinal-set outcome-log tally: test/bulk test/change-tracking test/chaos/random-fault-schedules.test.ts test/commands/upload test/jobs/sent-files-ledger.test.ts test/output/rejects-file.test.ts
src/bulk/journal journal journal-format: test/bulk/journal.test.ts test/bulk/sync-order.test.ts test/bulk/fencing.test.ts test/bulk/commit-queue.test.ts test/bulk/resume.test.ts test/commands/runs/repair.test.ts test/chaos/simulation/fleet-simulation.test.ts
src/bulk/event-memory event-archive event-compaction event-log event-memory event-store: test/bulk/event-compaction.test.ts test/bulk/sync-order.test.ts test/commands/upload/event-memory.test.ts test/commands/upload/event-memory.long.test.ts test/chaos/event-memory.test.ts
src/bulk/export cursor export-documents export-journal slice: test/commands/export test/chaos/malformed-http-cases.test.ts
src/output checkpoint-file spill-file: test/commands/export test/output
src redact: test/client/redact.test.ts test/security test/commands/common/log-file.test.ts
src/jobs/run sent-files-ledger: test/jobs/sent-files-ledger.test.ts test/bulk/sync-order.test.ts
src/jobs shard: test/jobs/shard.test.ts test/commands/upload/sharding.test.ts test/commands/export/missing-days.test.ts
src/mapping sharding: test/commands/upload/sharding.test.ts
src/fleet lease: test/fleet/lease.test.ts test/chaos/simulation/fleet-simulation.test.ts test/jobs/library.test.ts
src/bulk/change-tracking baseline-file baseline-store change-log change-tracker: test/change-tracking test/bulk/sync-order.test.ts test/commands/upload/event-memory.test.ts
wasm baseline-table: test/change-tracking`;
const testsOf = new Map();
for (const line of table.trim().split('\n')) {
  const [modules, tests] = line.split(': ').map((words) => words.split(' '));
  const [folder, ...names] = modules;
  for (const name of names) testsOf.set(`${folder}/${name}.ts`, tests);
}

/** Mutations that change nothing anybody could see, with the reason. */
const equivalents = readFileSync(`${import.meta.dirname}/equivalent-mutations.txt`, 'utf8');
const equivalent = new Set(equivalents.split('\n').filter((line) => /^[a-z]/.test(line)));

const string = { type: 'string' };
const seconds = { ...string, default: '60' };
const options = { seed: string, count: { ...string, default: '300' }, seconds, survivors: string };
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const modules = positionals.length > 0 ? positionals : [...testsOf.keys()];
const stranger = modules.find((file) => !testsOf.has(file));
if (stranger) throw new Error(`${stranger} is not in the table of bin/mutate.mjs`);

const root = path.resolve(import.meta.dirname, '..');
const copy = mkdtempSync(path.join(tmpdir(), 'mutate-'));
/** The process that is under way, and ends with this one. */
let running;
process.once('exit', () => {
  if (running) process.kill(-running.pid, 'SIGKILL');
  rmSync(copy, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const copied = 'bin dist docs fixtures src test wasm package.json tsconfig.json vitest.config.ts';
for (const name of copied.split(' ')) {
  cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
}
symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
writeFileSync(
  `${copy}/mutate.config.ts`,
  `import config from './vitest.config.ts';
const { test } = config({ mode: 'test', command: 'serve' });
const recorded = { runner: './bin/mutation-runner.mjs', retry: 0, bail: 0 };
// Of the long tests, those of the event memory take part: they take seconds, and start no processes.
const exclude = ['test/**/!(event-memory).long.test.ts'];
const isWoven = process.env.MUTATION_PLAN !== undefined;
export default { test: { ...test, exclude, ...(isWoven ? recorded : { bail: 1 }), experimental: { fsModuleCache: true, fsModuleCachePath: '.cache' } } };
`,
);

/** Operators, each with those that it is changed to. */
const pairs = '< <= >=,<= < >,> >= <=,>= > <,=== !==,!== ===,== !=,!= ==,+ -,- +,&& ||,|| &&';
const words = pairs.split(',').map((pair) => pair.split(' '));
const swaps = new Map(words.map(([operator, ...others]) => [operator, others]));
const all = modules.flatMap((file) => mutationsOf(file, readFileSync(`${root}/${file}`, 'utf8')));
const names = new Set(modules.length < testsOf.size ? equivalent : all.map(nameOf));
const stale = [...equivalent].filter((name) => !names.has(name));
if (stale.length > 0)
  throw new Error(`bin/equivalent-mutations.txt has lines of no mutation:\n${stale.join('\n')}`);
const planted = all.filter((mutation) => !equivalent.has(nameOf(mutation)));
/** Path of an earlier report; only its survivors are mutated again. */
const survived =
  values.survivors && readFileSync(values.survivors, 'utf8').split('survivors:\n')[1];
const chosen = planted.filter(
  (mutation) => survived === undefined || survived.includes(described(mutation)),
);
const sample = shuffled(chosen).slice(0, Number(values.count));
sample.forEach((mutation, index) => (mutation.id = index + 1));
const tests = [...new Set(sample.flatMap(({ file }) => testsOf.get(file)))];
console.log(
  `seed ${seed}: ${sample.length} of ${all.length} mutations, ${all.length - planted.length} equivalent`,
);

const woven = sample.filter(({ isAlone }) => !isAlone);
weave(woven);
const reached = await record();
const loaded = new Set(reached.flatMap(({ test, ids }) => (test ? [] : ids)));
const inTests = reached.filter(({ test }) => test);
const found = new Set();
for (const longest of [100, 1000, Infinity]) await tryTests(longest);
weave([]);
const isCovered = new Set(inTests.flatMap(({ ids }) => ids));
for (const mutation of sample) {
  const { id, isAlone } = mutation;
  if (!isAlone && (isCovered.has(id) || !loaded.has(id))) continue;
  if (await isFoundAlone(mutation)) found.add(id);
}

const survivors = sample.filter(({ id }) => !found.has(id));
for (const file of modules) {
  const countIn = (list) => list.filter((mutation) => mutation.file === file).length;
  if (countIn(sample) > 0)
    console.log(`${file}: ${countIn(survivors)} of ${countIn(sample)} survived`);
}
const share = ((100 * found.size) / Math.max(1, sample.length)).toFixed(1);
console.log(`planted ${sample.length}, found ${found.size} (${share} %), seed ${seed}; survivors:`);
for (const mutation of survivors) {
  const isReached = mutation.isAlone || isCovered.has(mutation.id) || loaded.has(mutation.id);
  console.log(described(mutation) + (isReached ? '' : '  (no test reaches it)'));
}

/** Writes the modules into the copy, with all these mutations behind their switches. */
function weave(mutations) {
  for (const file of modules) {
    const text = readFileSync(`${root}/${file}`, 'utf8');
    const own = mutations.filter((mutation) => mutation.file === file);
    writeFileSync(`${copy}/${file}`, own.length > 0 ? wovenText(text, own) : text);
  }
}

/** The places of mutations lie in each other or apart, as the nodes of a syntax tree do. */
function wovenText(text, mutations) {
  const open = [];
  let out = '';
  let at = 0;
  const copyTo = (end) => {
    out += text.slice(at, end);
    at = end;
  };
  const closeUntil = (start) => {
    while (open.length > 0 && open.at(-1).site[1] <= start) {
      const { site, isStatement } = open.pop();
      copyTo(site[1]);
      out += isStatement ? '}}' : '))';
    }
  };
  for (const mutation of mutations.toSorted(
    (a, b) => a.site[0] - b.site[0] || b.site[1] - a.site[1],
  )) {
    const { id, site, start, end, put, isStatement } = mutation;
    closeUntil(site[0]);
    copyTo(site[0]);
    const isOn = `globalThis.isMutated?.(${id})`;
    const other = text.slice(site[0], start) + put + text.slice(end, site[1]);
    // In a block, so that a following `else` stays with its own `if`.
    out += isStatement ? `{if (!${isOn}) {` : `(${isOn} ? (${other}) : (`;
    open.push(mutation);
  }
  closeUntil(Infinity);
  return out + text.slice(at);
}

/** Runs the tests without a mutation: which ones each test reaches, and its milliseconds. */
async function record() {
  const report = `${copy}/record`;
  mkdirSync(report);
  const env = { MUTATION_PLAN: 'record', MUTATION_REPORT: report };
  const code = await exitCode(vitestOf(tests), env, 300_000);
  const lines = linesOf(`${report}/log`);
  if (lines.length === 0) throw new Error('no test ran');
  // The mutations that only the remaining tests reach would count as survivors.
  if (code === null) throw new Error(`the recording was killed after ${lines.length} tests`);
  for (const { test, hasFailed } of lines) {
    if (hasFailed) console.log(`fails without a mutation: ${test}`);
  }
  return lines.filter(({ hasFailed }) => !hasFailed);
}

/** Runs each test that takes up to so long with each mutation that it reaches. */
async function tryTests(longest) {
  // Tests that reach few mutations are about just these: a module's own tests come first.
  const costOf = ({ ids, milliseconds }) => ids.length * milliseconds;
  const ownFirst = inTests.toSorted((a, b) => costOf(a) - costOf(b));
  for (let round = 0; round < 10; round += 1) {
    const report = `${copy}/try-${longest}-${round}`;
    mkdirSync(report);
    const left = new Map(woven.map(({ id }) => [id, 1000 * Number(values.seconds)]));
    const plan = {};
    const files = new Set();
    for (const { test, file, ids, milliseconds, tried } of ownFirst) {
      if (milliseconds > longest) continue;
      const mine = ids.filter((id) => !found.has(id) && left.get(id) > 0);
      for (const id of mine) left.set(id, left.get(id) - milliseconds);
      const rest = mine.filter((id) => !tried?.has(id));
      if (rest.length === 0) continue;
      plan[test] = { ids: rest, milliseconds };
      files.add(file);
    }
    if (files.size === 0) return;
    writeFileSync(`${report}/plan.json`, JSON.stringify(plan));
    await succeeds([...files], { MUTATION_PLAN: `${report}/plan.json`, MUTATION_REPORT: report });
    const lines = linesOf(`${report}/log`);
    const isVoid = new Set(lines.flatMap((line) => (line.isVoid ? [line.test] : [])));
    for (const test of isVoid) console.log(`cannot be repeated: ${test}`);
    /** The test that each process was running when it ended. */
    const last = new Map(lines.map((line) => [line.pid, line]));
    last.delete(undefined);
    for (const { test, id, isFound } of lines) {
      const ended = lines.some((line) => line.test === test && line.id === id && 'isFound' in line);
      if (isFound === undefined && ended) continue;
      const one = inTests.find((other) => other.test === test);
      const isLast = [...last.values()].some((line) => line.test === test && line.id === id);
      if (id) (one.tried ??= new Set()).add(id);
      if (isFound === undefined && isLast) console.log(`never ended: mutation ${id} in ${test}`);
      if (id && !isVoid.has(test) && (isFound ?? isLast)) found.add(id);
    }
    console.log(`tests up to ${longest} ms: ${found.size} of ${woven.length} found`);
  }
}

function linesOf(file) {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Every mutation of a file, from its syntax tree: strings, comments and types stay as they are. */
function mutationsOf(file, text) {
  const mutations = [];
  const add = (start, end, put, site = [start, end], isStatement = false) => {
    // Files that are left open are noticed at the end of a test file.
    const isClose = put === ';' && /\bclose(Sync)?\(/.test(text.slice(start, end));
    const isAlone = depth === 0 || isClose || file.startsWith('wasm/');
    mutations.push({ file, text, start, end, put, site, isStatement, isAlone });
  };
  /** Functions around the node; what is in none takes effect when the module is loaded. */
  let depth = 0;
  const visit = (node, isKey) => {
    const { type, start, end, left, right, operator, test, value } = node;
    const isType = type?.startsWith('TS') && !node.expression && type !== 'TSParameterProperty';
    if (isType) return;
    const isText = [left, right].some((side) => /^['"`]/.test(text.slice(side?.start, side?.end)));
    if (/^(Binary|Logical)Expression$/.test(type) && !(operator === '+' && isText)) {
      const at = text.indexOf(operator, left.end);
      for (const put of swaps.get(operator) ?? []) {
        add(at, at + operator.length, put, [start, end]);
      }
    }
    if (type === 'UnaryExpression' && operator === '!') add(start, start + 1, '', [start, end]);
    if (test?.type && !/^(Binary|Unary)/.test(test.type)) {
      add(test.start, test.end, `!(${text.slice(test.start, test.end)})`);
    }
    const isPattern = type === 'AssignmentPattern';
    const others = { boolean: [!value], number: [value + 1, value - 1] }[typeof value] ?? [];
    if (type === 'Literal' && !isKey) others.forEach((other) => add(start, end, `(${other})`));
    const leaves = /^(Return|Throw|Continue|Break)/.test(node.consequent?.type);
    const isGuard = type === 'IfStatement' && !node.alternate && leaves;
    if (isGuard || (type === 'ExpressionStatement' && !node.directive)) {
      add(start, end, ';', [start, end], true);
    }
    const isFunction = /Function/.test(type) || (type === 'PropertyDefinition' && !node.static);
    if (isFunction) depth += 1;
    for (const [name, child] of Object.entries(node)) {
      const isName = name === 'key' && !node.computed;
      // The type checker asks for it where an array always has an element: `ends[index] ?? 0`.
      const isFiller = name === 'right' && (isPattern || (operator === '??' && left.computed));
      if (child && typeof child === 'object') visit(child, isName || isFiller);
    }
    if (isFunction) depth -= 1;
  };
  // Decorators of functions are AssemblyScript's own.
  const code = text.replaceAll(/^@\w+/gm, (decorator) => ' '.repeat(decorator.length));
  visit(parseAst(code, { lang: 'ts' }).body);
  return mutations;
}

async function isFoundAlone({ file, text, start, end, put }) {
  writeFileSync(`${copy}/${file}`, text.slice(0, start) + put + text.slice(end));
  const isFound = !(await compiled(file)) || !(await succeeds(testsOf.get(file)));
  writeFileSync(`${copy}/${file}`, text);
  await compiled(file);
  return isFound;
}

/** Compiles the WebAssembly program again where the file belongs to it. */
async function compiled(file) {
  if (!file.startsWith('wasm/')) return true;
  const isWhole = (await exitCode(['bin/compile-wasm.mjs'], {})) === 0;
  if (isWhole) renameSync(`${copy}/dist.new/text.wasm`, `${copy}/dist/text.wasm`);
  return isWhole;
}

async function succeeds(files, env = {}) {
  // Alone, vitest writes no log while it runs.
  const patience = env.MUTATION_REPORT ? undefined : 300_000;
  return (await exitCode(vitestOf(files), env, patience)) === 0;
}

function vitestOf(files) {
  const args = ['run', '--config=mutate.config.ts', '--reporter=dot', ...files];
  return ['node_modules/vitest/vitest.mjs', ...args];
}

/** Null if the process reported nothing for `patience` milliseconds; then all that it started is killed with it. */
async function exitCode(args, env, patience = 90_000) {
  const log = `${env.MUTATION_REPORT}/log`;
  const child = spawn('node', args, {
    cwd: copy,
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, ...env },
  });
  running = child;
  const begun = Date.now();
  const timer = setInterval(() => {
    const last = existsSync(log) ? statSync(log).mtimeMs : begun;
    if (Date.now() - last > patience) process.kill(-Number(child.pid), 'SIGKILL');
  }, 1000);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(timer);
  running = undefined;
  return code;
}

/** Returns the mutation as written in bin/equivalent-mutations.txt: the mutated line. */
function nameOf({ file, text, start, end, put }) {
  const lineEnd = text.indexOf('\n', end);
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const line = `${before}«${text.slice(start, end)} → ${put}»${text.slice(end, lineEnd)}`;
  return `${file}: ${line.trim().replaceAll(/\s+/g, ' ')}`;
}

function described(mutation) {
  const line = mutation.text.slice(0, mutation.start).split('\n').length;
  return nameOf(mutation).replace(': ', `:${line}: `);
}

/** Shuffles by the seed. */
function shuffled(list) {
  const drawn = (index) => createHash('sha256').update(`${seed} ${index}`).digest('hex');
  const ordered = list.map((item, index) => ({ item, at: drawn(index) }));
  return ordered.toSorted((a, b) => (a.at < b.at ? -1 : 1)).map(({ item }) => item);
}

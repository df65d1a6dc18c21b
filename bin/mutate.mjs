// Mutation testing: changes one expression at a time in a temporary copy, runs the tests of its module,
// and prints each mutation that no test finds. npm run mutate [-- --seed 7 --count 300 <module>…]
// Tests that start the built program see it without the mutation.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseAst } from 'rolldown/parseAst';

/** Modules of a folder, and the test files or folders that must find their mutations. */
const table = `
src/bulk/write batch-builder batch-sender batch deduplication per-key-order response-check send-queue stop-conditions write-pipeline: test/bulk/write test/bulk/resume.test.ts
src/bulk/outcomes ordinal-set outcome-log tally: test/bulk/write test/bulk/resume.test.ts test/bulk/outcome-log.test.ts test/bulk/integer-ranges.test.ts
src/bulk/journal journal journal-format: test/bulk/journal.test.ts test/bulk/fencing.test.ts test/bulk/commit-queue.test.ts test/bulk/resume.test.ts
src/bulk/export cursor export-documents export-journal slice: test/commands/export/resume.test.ts test/commands/export/export-events.test.ts test/commands/export/export-profiles.test.ts
src/output checkpoint-file spill-file: test/commands/export/resume.test.ts test/commands/export/export-events.test.ts
src/client redact: test/security test/commands/common/log-file.test.ts
src/jobs/run sent-files-ledger: test/jobs/sent-files-ledger.test.ts
src/jobs shard: test/jobs/shard.test.ts test/commands/upload/sharding.test.ts
src/mapping sharding: test/commands/upload/sharding.test.ts
src/fleet lease: test/fleet/lease.test.ts
src/bulk/change-tracking baseline-file baseline-store change-log change-tracker: test/change-tracking
wasm baseline-table: test/change-tracking`;
const testsOf = new Map();
for (const line of table.trim().split('\n')) {
  const [modules, tests] = line.split(': ').map((words) => words.split(' '));
  const [folder, ...names] = modules;
  for (const name of names) testsOf.set(`${folder}/${name}.ts`, tests);
}

const string = { type: 'string' };
const options = { seed: string, count: { ...string, default: '300' }, seconds: string };
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const modules = positionals.length > 0 ? positionals : [...testsOf.keys()];
const stranger = modules.find((file) => !testsOf.has(file));
if (stranger) throw new Error(`${stranger} is not in the table of bin/mutate.mjs`);

const root = path.resolve(import.meta.dirname, '..');
const copy = mkdtempSync(path.join(tmpdir(), 'mutate-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const copied = 'bin dist docs fixtures src test wasm package.json tsconfig.json vitest.config.ts';
for (const name of copied.split(' ')) {
  cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
}
symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));

/** Operators, each with those that it is changed to. */
const pairs = '< <= >=,<= < >,> >= <=,>= > <,=== !==,!== ===,== !=,!= ==,+ -,- +,&& ||,|| &&';
const words = pairs.split(',').map((pair) => pair.split(' '));
const swaps = new Map(words.map(([operator, ...others]) => [operator, others]));
const all = modules.flatMap((file) => mutationsOf(file, readFileSync(`${root}/${file}`, 'utf8')));
const sample = shuffled(all).slice(0, Number(values.count));
for (const tests of new Set(sample.map(({ file }) => testsOf.get(file)))) {
  if (!(await passes(tests))) throw new Error(`tests fail without a mutation: ${tests.join(' ')}`);
}
console.log(`seed ${seed}: ${sample.length} of ${all.length} mutations`);
const survivors = [];
for (const [index, mutation] of sample.entries()) {
  const isFound = await isFoundByTests(mutation);
  if (!isFound) survivors.push(mutation);
  console.log(`${index + 1} ${isFound ? 'found' : 'SURVIVED'} ${described(mutation)}`);
}
for (const file of modules) {
  const countIn = (list) => list.filter((mutation) => mutation.file === file).length;
  if (countIn(sample) > 0)
    console.log(`${file}: ${countIn(survivors)} of ${countIn(sample)} survived`);
}
const found = sample.length - survivors.length;
const share = ((100 * found) / Math.max(1, sample.length)).toFixed(1);
console.log(`planted ${sample.length}, found ${found} (${share} %), seed ${seed}; survivors:`);
for (const mutation of survivors) console.log(described(mutation));

/** Every mutation of a file, from its syntax tree: strings, comments and types stay as they are. */
function mutationsOf(file, text) {
  const mutations = [];
  const add = (start, end, put) => mutations.push({ file, text, start, end, put });
  const visit = (node) => {
    const { type, start, end, left, right, operator, test, value } = node;
    const isType = type?.startsWith('TS') && !node.expression && type !== 'TSParameterProperty';
    if (isType) return;
    const isText = [left, right].some((side) => /^['"`]/.test(text.slice(side?.start, side?.end)));
    if (/^(Binary|Logical)Expression$/.test(type) && !(operator === '+' && isText)) {
      const at = text.indexOf(operator, left.end);
      for (const put of swaps.get(operator) ?? []) add(at, at + operator.length, put);
    }
    if (type === 'UnaryExpression' && operator === '!') add(start, start + 1, '');
    if (test && !/^(Binary|Unary)/.test(test.type)) {
      add(test.start, test.end, `!(${text.slice(test.start, test.end)})`);
    }
    const others = { boolean: [!value], number: [value + 1, value - 1] }[typeof value] ?? [];
    if (type === 'Literal') others.forEach((other) => add(start, end, `(${other})`));
    const leaves = /^(Return|Throw|Continue|Break)/.test(node.consequent?.type);
    const isGuard = type === 'IfStatement' && !node.alternate && leaves;
    if (isGuard || (type === 'ExpressionStatement' && !node.directive)) add(start, end, ';');
    Object.values(node).forEach((child) => child && typeof child === 'object' && visit(child));
  };
  // Decorators of functions are AssemblyScript's own.
  const code = text.replaceAll(/^@\w+/gm, (decorator) => ' '.repeat(decorator.length));
  visit(parseAst(code, { lang: 'ts' }).body);
  return mutations;
}

async function isFoundByTests({ file, text, start, end, put }) {
  writeFileSync(`${copy}/${file}`, text.slice(0, start) + put + text.slice(end));
  const isFound = !(await compiled(file)) || !(await passes(testsOf.get(file)));
  writeFileSync(`${copy}/${file}`, text);
  await compiled(file);
  return isFound;
}

/** Compiles the WebAssembly program again where the file belongs to it. */
async function compiled(file) {
  if (!file.startsWith('wasm/')) return true;
  const isWhole = await succeeds(['bin/compile-wasm.mjs']);
  if (isWhole) renameSync(`${copy}/dist.new/text.wasm`, `${copy}/dist/text.wasm`);
  return isWhole;
}

function passes(tests) {
  return succeeds(['node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...tests]);
}

/** False where it fails or takes too long; then all that it started ends with it. */
async function succeeds(args) {
  const child = spawn('node', args, { cwd: copy, detached: true, stdio: 'ignore' });
  const timeout = 1000 * Number(values.seconds ?? 120);
  const timer = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), timeout);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  return code === 0;
}

function described({ file, text, start, end, put }) {
  const line = text.slice(0, start).split('\n').length;
  const change = `${text.slice(start, end)} → ${put}`.replaceAll(/\s+/g, ' ');
  return `${file}:${line}: ${text.split('\n')[line - 1].trim()}  [${change}]`;
}

/** In an order that the seed draws. */
function shuffled(list) {
  const drawn = (index) => createHash('sha256').update(`${seed} ${index}`).digest('hex');
  const ordered = list.map((item, index) => ({ item, at: drawn(index) }));
  return ordered.toSorted((a, b) => (a.at < b.at ? -1 : 1)).map(({ item }) => item);
}

// Runner of vitest for bin/mutate.mjs. The first run records which mutations each test reaches; later ones run a test
// once for every mutation that the plan names, and once more without any, as a check that it can be repeated.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { TestRunner } from 'vitest';

const { MUTATION_PLAN: planFile = '', MUTATION_REPORT: report = '' } = process.env;
const isRecording = planFile === 'record';
const plan = isRecording ? {} : JSON.parse(readFileSync(planFile, 'utf8'));

const log = (entry) => appendFileSync(`${report}/log`, `${JSON.stringify(entry)}\n`);
const nameOf = (test) =>
  `${test.file.name} > ${test.fullTestName ?? test.fullName ?? test.name} ${test.id}`;

/** The mutation that is on; 0 for none. */
let on = 0;
/** When a test with a mutation is over, finished or not. */
let deadline = Infinity;
let reached = new Set();
let hasFailedBeside = false;

globalThis.isMutated = (id) => {
  if (isRecording) reached.add(id);
  // Also ends loops that the mutation made endless.
  if (on !== 0 && performance.now() > deadline) throw new Error('The mutation takes too long');
  return id === on;
};
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, () => (hasFailedBeside = true));
}

export default class MutationRunner extends TestRunner {
  #skipsRest = false;
  #hasFailedPlain = false;

  async onBeforeRunTask(test) {
    const mine = plan[nameOf(test)];
    if (isRecording && reached.size > 0) this.#logLoaded();
    if (!isRecording && !mine) test.mode = 'skip';
    // Twice without: a test that depends on what it did before proves nothing.
    if (mine && test.mode === 'run') test.repeats = mine.ids.length + 1;
    return super.onBeforeRunTask(test);
  }

  onBeforeTryTask(test, { repeats }) {
    super.onBeforeTryTask(test);
    test.result.state = 'run';
    test.result.errors = undefined;
    hasFailedBeside = false;
    const { ids = [], milliseconds = 0 } = plan[nameOf(test)] ?? {};
    const id = ids[repeats - 1] ?? 0;
    this.#skipsRest = id !== 0 && (this.#hasFailedPlain || existsSync(`${report}/${id}`));
    on = this.#skipsRest ? 0 : id;
    deadline = performance.now() + 5000 + 10 * milliseconds;
    if (on !== 0) log({ test: nameOf(test), id, pid: process.pid });
  }

  async runTask(test) {
    if (this.#skipsRest) return;
    const run = TestRunner.getTestFn(test)();
    if (on === 0) return run;
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('late')), deadline - performance.now());
    });
    await Promise.race([run, late]).finally(() => clearTimeout(timer));
  }

  async onAfterRetryTask(test, { repeats }) {
    const isFound = test.result.state === 'fail' || hasFailedBeside;
    const id = on;
    on = 0;
    if (isRecording || this.#skipsRest) return;
    // The other worker skips mutations that are already found, too.
    if (id !== 0 && isFound) writeFileSync(`${report}/${id}`, '');
    if (id !== 0) log({ test: nameOf(test), id, isFound });
    else if (isFound) log({ test: nameOf(test), isVoid: true });
    if (repeats === 0) this.#hasFailedPlain = isFound;
  }

  onAfterRunTask(test) {
    if (isRecording) {
      const { state, duration } = test.result;
      const ids = [...reached];
      const hasFailed = state === 'fail';
      log({ test: nameOf(test), file: test.file.name, ids, milliseconds: duration, hasFailed });
      reached = new Set();
    }
    return super.onAfterRunTask(test);
  }

  /** Lines that run when modules are loaded, and in hooks. */
  #logLoaded() {
    log({ ids: [...reached] });
    reached = new Set();
  }
}

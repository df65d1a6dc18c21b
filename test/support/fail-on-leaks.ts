import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Database from 'libsql';
import { beforeAll } from 'vitest';
import { openDescriptors } from './open-descriptors.js';

// Fails a test file that leaves a file, a socket, a child process or a timer that would keep the process
// alive. Node does not list timers that were unreferenced; the test runner's own run before each file.

/** Milliseconds that what is being closed may take. */
const patience = 5000;
/** Milliseconds after which garbage is collected. */
const patienceWithGarbage = 100;

/** Kinds of process.getActiveResourcesInfo(). */
const watchedKinds = new Set([
  'ProcessWrap',
  'TCPServerWrap',
  'TCPSocketWrap',
  'FSEventWrap',
  'Timeout',
]);

/** Number of resources that keep the process alive, by kind. */
function activeResources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (watchedKinds.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

let descriptorsBefore: ReadonlyMap<string, string>;
let resourcesBefore: ReadonlyMap<string, number>;
/** Warnings of Node about file handles that were garbage before they were closed. */
let warnings: string[];
const onWarning = ({ message }: Error): void => {
  if (message.includes('on garbage collection')) warnings.push(message);
};

beforeAll(() => {
  new Database(':memory:').close(); // its runtime opens sockets at its first use, for good
  warnings = [];
  process.on('warning', onWarning);
  descriptorsBefore = openDescriptors();
  resourcesBefore = activeResources();
  return refuseLeaks; // after all other hooks: what the first one returns is called last
});

/** Resources that are open now and were not before the first test of the file. */
function leftOpen(): string[] {
  const opened = [...openDescriptors()].filter(([key]) => !descriptorsBefore.has(key));
  const more = [...activeResources()].flatMap(([kind, count]) => {
    const others = count - (resourcesBefore.get(kind) ?? 0);
    return others > 0 ? [`${others} ${kind}`] : [];
  });
  return [...opened.map(([, target]) => target), ...more];
}

/**
 * Collects garbage: SQLite closes a store when its statements are gone, and libsql has no other way to end
 * them. A file handle that is closed so is a warning of Node, and a leak.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

async function refuseLeaks(): Promise<void> {
  const begun = performance.now();
  for (let waited = 0; leftOpen().length > 0 && waited < patience;) {
    await pause(10);
    waited = performance.now() - begun;
    if (waited <= patienceWithGarbage) continue;
    collectGarbage();
    await pause(10); // the warning comes some turns later
  }
  process.off('warning', onWarning);
  const leaks = [...leftOpen(), ...warnings];
  if (leaks.length > 0) throw new Error(`This test file leaves open: ${leaks.join(', ')}`);
}

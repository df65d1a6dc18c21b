import { existsSync, statfsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

// `vitest run` is the quick suite. `vitest run --mode long` runs the tests named *.long.test.ts, and the random ones
// again with more points and a seed of their own.
const sweeps = [
  'test/bulk/event-compaction.test.ts',
  'test/bulk/journal.test.ts',
  'test/chaos/corrupted-state.test.ts',
  'test/chaos/event-memory.test.ts',
  'test/chaos/full-disk.test.ts',
  'test/chaos/kill-sweep.test.ts',
  'test/chaos/malformed-http-random.test.ts',
  'test/chaos/random-fault-schedules.test.ts',
  'test/commands/cuid/derive.test.ts',
  'test/commands/export/kill-sweep.test.ts',
  'test/commands/upload/exported-csv.test.ts',
  'test/commands/upload/hints.test.ts',
  'test/commands/upload/random-notations.test.ts',
  'test/commands/upload/sharding.test.ts',
  'test/docs/documented-commands.test.ts',
  'test/help/examples.test.ts',
  'test/input/csv-dialect.test.ts',
  'test/input/csv-scanner.test.ts',
  'test/input/csv.test.ts',
  'test/input/differential.test.ts',
  'test/input/json-array.test.ts',
  'test/input/source-list.test.ts',
  'test/input/table-detection.test.ts',
  'test/jobs/changed-inputs.test.ts',
  'test/jobs/sent-histories.test.ts',
  'test/jobs/settle-histories.test.ts',
  'test/jobs/verify-proof.test.ts',
  'test/output/csv-differential.test.ts',
  'test/output/csv.test.ts',
  'test/output/ndjson.test.ts',
  'test/security/passcode-never-printed.test.ts',
  'test/service/calls/bad-input.test.ts',
  'test/service/rest/export.test.ts',
  'test/service/rest/subscriptions.test.ts',
  'test/service/store/users.test.ts',
  'test/text/event-fingerprints.test.ts',
  'test/text/json-parser.test.ts',
  'test/text/page-oracle.test.ts',
  'test/text/page-scanner.test.ts',
];

// Code whose tests start processes, most of them in the long suite: workers beside Redis or PostgreSQL, shells, two
// phones that talk.
const startedOnly = [
  'src/process.ts',
  'src/fleet/**',
  'src/commands/fleet/**',
  'src/jobs/export/merge-shards.ts',
  'src/ui/report/fleet-page.ts',
  'src/help/completion/**',
  'src/calling/node/voice.ts',
];

export default defineConfig(({ mode }) => {
  const isLong = mode === 'long';
  return {
    test: {
      include: isLong ? ['test/**/*.long.test.ts', ...sweeps] : ['test/**/*.test.ts'],
      exclude: isLong ? [] : ['test/**/*.long.test.ts'],
      env: isLong ? longRun() : memoryDisk(),
      setupFiles: ['test/support/no-network.ts', 'test/support/fail-on-leaks.ts'],
      testTimeout: isLong ? 600_000 : 60_000,
      hookTimeout: 60_000,
      // Machines of CI are busy: no test waits less than it may.
      expect: { poll: { timeout: 30_000 } },
      maxWorkers: isLong ? 2 : 3,
      // Each file in a process of its own costs a sixth of the suite's time.
      isolate: false,
      // Garbage is collected less often while the heap is small, and by one thread, since the others have work: a fifth
      // of the suite's CPU time.
      execArgv: [
        '--initial-old-space-size=1024',
        '--min-semi-space-size=16',
        '--single-threaded-gc',
      ],
      // With `npm run test:coverage`. Processes that a test starts run the bundle, and are not counted.
      coverage: {
        provider: 'v8',
        include: ['src/**/*.ts'],
        exclude: startedOnly,
        reporter: ['text-summary', 'json'],
        thresholds: { lines: 95, branches: 90, functions: 95 },
      },
    },
  };
});

/**
 * Has the folders of tests made in memory, where there is room: a disk would be asked to sync a hundred thousand times,
 * which is a fifth of the suite's time.
 */
function memoryDisk(): Record<string, string> {
  const folder = '/dev/shm';
  if (!existsSync(folder)) return {};
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < 2 ** 31 ? {} : { TMPDIR: folder };
}

/** How much the sweeps of the long suite try, and the seed they start from: a new one each time, unless it is named. */
function longRun(): Record<string, string> {
  const { ENGAGECTL_SEED: seed = String(Date.now() % 1_000_000_000), ...named } = process.env;
  process.stderr.write(`ENGAGECTL_SEED=${seed}\n`);
  const sizes = {
    ENGAGECTL_SCHEDULES: '400',
    ENGAGECTL_DOCUMENTS: '20000',
    ENGAGECTL_CORRUPTIONS: '200',
    ENGAGECTL_ODD_HTTP: '512',
    ENGAGECTL_EVENT_RUNS: '100',
  };
  const chosen = Object.entries(sizes).map(([name, size]) => [name, named[name] ?? size]);
  return {
    ...Object.fromEntries(chosen),
    ENGAGECTL_LONG: '1',
    ENGAGECTL_SEED: seed,
    ENGAGECTL_KILL_SEED: named['ENGAGECTL_KILL_SEED'] ?? seed,
  };
}

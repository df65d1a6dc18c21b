import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/no-network.ts', 'test/support/fail-on-leaks.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Machines of CI are busy: no test waits less than it may.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    // Each file in a process of its own costs a sixth of the suite's time.
    isolate: false,
  },
});

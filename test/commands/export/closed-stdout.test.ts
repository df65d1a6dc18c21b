import { expect, it } from 'vitest';
import { BinProcess } from '../../support/processes/bin-process.js';
import { recordsPage, startPageServer } from '../../support/servers/page-server.js';
import { makeWorld } from '../../support/test-environment.js';

it.each(['ndjson', 'json'])(
  'stops at once without a message when stdout is closed: %s',
  async (format) => {
    const record = `{"text":"${'x'.repeat(10_000)}"}`;
    const pages = Array.from({ length: 200 }, () =>
      recordsPage(...Array.from({ length: 30 }, () => record)),
    );
    await using server = await startPageServer(() => pages);
    const flags = ['--event', 'A', '--from', 'today', '--to', 'today', '--format', format];
    const started = new BinProcess(makeWorld(), ['export-profiles', ...flags], server.env);
    const { stdout } = started.child;
    stdout?.once('data', () => stdout.destroy());
    const { code, stderr } = await started.outcome();
    expect(code).toBe(141);
    expect(stderr).toMatch(/^export-profiles: .*\n$/); // the range, said at the start
    expect(server.asked.length).toBeLessThan(50);
  },
);

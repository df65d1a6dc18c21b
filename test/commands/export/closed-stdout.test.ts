import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { recordsPage, startPageServer } from '../../support/servers/page-server.js';
import { makeWorld } from '../../support/test-environment.js';

const bin = fileURLToPath(new URL('../../../bin/engagectl.js', import.meta.url));

it.each(['ndjson', 'json'])(
  'stops at once, in silence, when the reader of stdout leaves: %s',
  async (format) => {
    const record = `{"text":"${'x'.repeat(10_000)}"}`;
    const pages = Array.from({ length: 200 }, () =>
      recordsPage(...Array.from({ length: 30 }, () => record)),
    );
    await using server = await startPageServer(() => pages);
    const world = makeWorld();
    const flags = ['--event', 'A', '--from', 'today', '--to', 'today', '--format', format];
    const child = spawn(process.execPath, [bin, 'export-profiles', ...flags], {
      cwd: world.cwd,
      env: {
        ...server.env,
        ENGAGECTL_STATE_DIR: world.stateDir,
        ENGAGECTL_CONFIG_DIR: world.configDir,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    child.stdout.once('data', () => child.stdout.destroy());
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(141);
    expect(stderr).toMatch(/^export-profiles: .*\n$/); // the range, said at the start
    expect(server.asked.length).toBeLessThan(50);
  },
);

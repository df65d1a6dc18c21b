import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inTurn, pendingBody, recordsPage, startPageServer } from '../support/page-server.js';
import { makeWorld } from '../support/world.js';

const range = ['--event', 'App Launched', '--from', '2024-01-01', '--to', '20240131'];
const command = ['export-profiles', ...range];

/** Every one of these would change in JSON.parse and JSON.stringify. */
const awkward = [
  '{"id":9007199254740993123,"price":1387.00,"huge":1e400,"zero":-0}',
  '{"text":"\\u00e9\\/\\ud83d\\ude00","emoji":"😀","10":1,"2":2,"a":1,"a":2}',
  '{ "spaced" : [ 1 , 2 ],\t"lone":"\\ud800" }',
];

describe('engagectl export-profiles', () => {
  it('writes every record byte for byte as a line on stdout', async () => {
    await using server = await startPageServer(() => [
      recordsPage(awkward[0]!, awkward[1]!),
      recordsPage(awkward[2]!),
    ]);
    const { code, stdout, stderr } = await makeWorld({ env: server.env }).run(command);
    expect(stderr).toContain('2024-01-01 to 2024-01-31, UTC');
    expect(stdout).toBe(`${awkward.join('\n')}\n`);
    expect(code).toBe(0);
    expect(server.asked).toEqual([
      '/1/profiles.json?cursor=c1%2Fp0%3D',
      '/1/profiles.json?cursor=c1%2Fp1%3D',
    ]);
    expect(server.openings).toMatchObject([
      {
        event_name: 'App Launched',
        from: 20240101,
        to: 20240131,
        parameters: { batch_size: '4991' },
      },
    ]);
  });

  it('writes a file of mode 0600 under its final name and the summary on stdout', async () => {
    await using server = await startPageServer(() => [
      inTurn([pendingBody, pendingBody], recordsPage(awkward[0]!)),
      recordsPage(awkward[1]!),
    ]);
    const world = makeWorld({ env: server.env });
    const { code, stdout } = await world.run([...command, '-o', 'out.ndjson', '--json']);
    expect(code).toBe(0);
    expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(
      `${awkward.slice(0, 2).join('\n')}\n`,
    );
    expect(statSync(world.path('out.ndjson')).mode & 0o777).toBe(0o600);
    expect(readdirSync(world.cwd)).toEqual(['out.ndjson']);
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'export-profiles',
      accountId: 'TEST-ACCOUNT',
      records: 2,
      pages: 2,
      requests: 5,
      retries: 0,
      pendingSeconds: 5,
      bytes: statSync(world.path('out.ndjson')).size,
      output: 'out.ndjson',
      exitCode: 0,
    });
  });
});

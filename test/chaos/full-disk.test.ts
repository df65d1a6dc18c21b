import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { expect, it } from 'vitest';
import { BinProcess } from '../support/processes/bin-process.js';
import { serve, written } from '../support/serve.js';

// Events on a disk that becomes full. Each event that was sent has its outcome, and each that was not is sent later.

const events = 60;
const line = (n: number) =>
  `{"identity":"u${n}","type":"event","evtName":"Seen","ts":${1_700_000_000 + n},"evtData":{}}\n`;

/** The errors of Node for a full disk, and for a used up quota, which it has no name for. */
const failures = {
  full: { code: 'ENOSPC', errno: -28 },
  'over quota': { code: 'UNKNOWN', errno: -constants.errno.EDQUOT },
};

/** A disk of so many bytes: of a write beyond them only a part fits, and removing the reserve frees its bytes. */
const diskOf = (bytes: number, failure: object) => `
  import fs from 'node:fs';
  const { writeSync, writevSync, ftruncateSync, fstatSync, rmSync, statSync } = fs;
  let free = ${bytes};
  const take = (length) => {
    const part = Math.min(length, free);
    if (part < length && part === 0) {
      throw Object.assign(new Error('no space left, write'), ${JSON.stringify(failure)});
    }
    free -= part;
    return part;
  };
  fs.writeSync = (file, data, offset = 0, length = data.length - offset, position = null) =>
    writeSync(file, Buffer.from(data), offset, take(length), position);
  fs.writevSync = (file, pieces, ...rest) => {
    const bytes = Buffer.concat(pieces);
    return writevSync(file, [bytes.subarray(0, take(bytes.length))], ...rest);
  };
  fs.ftruncateSync = (file, length) => {
    free += fstatSync(file).size - length;
    ftruncateSync(file, length);
  };
  fs.rmSync = (file, options) => {
    if (String(file).endsWith('.reserve')) free += statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    rmSync(file, options);
  };`;

const everySize = [3, 4, 5, 6, 7, 8, 197, 198, 199, 200, 201, 202];
/** The quick suite tries a third of them. */
const kilobytes =
  process.env['ENGAGECTL_LONG'] === '1' ? everySize : everySize.filter((_, n) => n % 3 === 1);

it.each(['full', 'over quota'] as const)(
  'sends each event once, with --resume, whenever the disk becomes %s',
  { timeout: 120_000 },
  async (how) => {
    const stopped: number[] = [];
    for (const size of kilobytes) {
      const { service, world } = await serve();
      writeFileSync(
        world.path('e.ndjson'),
        Array.from({ length: events }, (_, n) => line(n)).join(''),
      );
      const argv = ['upload', '--type', 'event', 'e.ndjson', '--chunk-size', '5', '--json'];
      const node = [
        '--import',
        `data:text/javascript,${encodeURIComponent(diskOf(1024 * size, failures[how]))}`,
      ];
      const env = service.env;
      const child = new BinProcess(world, [...argv, '--concurrency', '2'], env, { node });
      const { code, stdout, stderr } = await child.outcome();
      if (code !== 0) expect([code, stderr]).toEqual([9, expect.stringContaining('E-FILE-WRITE')]);
      const sent = written(service).flat().length;
      if (stdout !== '') expect(JSON.parse(stdout)).toMatchObject({ accepted: sent, unknown: 0 });
      if (code !== 0 && sent > 0) stopped.push(size);
      const resumed = await world.run([...argv, '--resume']);
      expect([size, resumed.code, resumed.stderr]).toMatchObject([size, 0, expect.anything()]);
      expect(JSON.parse(resumed.stdout)).toMatchObject({ unknown: 0, rejected: 0, notSent: 0 });
      const ids = written<{ identity: string }>(service)
        .flat()
        .map(({ identity }) => identity);
      expect([ids.length, new Set(ids).size]).toEqual([events, events]);
    }
    expect(stopped.length).toBeGreaterThan(1);
  },
);

it('keeps the outcomes of fifteen full requests in flight', { timeout: 120_000 }, async () => {
  for (const size of [360, 420, 500]) {
    const { service, world } = await serve();
    const lines = Array.from({ length: 40_000 }, (_, n) => line(n));
    writeFileSync(world.path('e.ndjson'), lines.join(''));
    const argv = ['upload', '--type', 'event', 'e.ndjson', '--json'];
    const disk = encodeURIComponent(diskOf(1024 * size, failures.full));
    const node = ['--import', `data:text/javascript,${disk}`];
    const child = new BinProcess(world, [...argv, '--concurrency', '15'], service.env, { node });
    const { code, stdout } = await child.outcome();
    const { accepted } = JSON.parse(stdout) as { readonly accepted: number };
    expect([code, accepted]).toEqual([9, written(service).flat().length]);
    const resumed = await world.run([...argv, '--resume']);
    const rest = lines.length - accepted;
    const figures = { resumed: accepted, accepted: rest, unknown: 0 };
    expect([resumed.code, JSON.parse(resumed.stdout)]).toMatchObject([0, figures]);
    expect(written(service).flat()).toHaveLength(lines.length);
  }
});

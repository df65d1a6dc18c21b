import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { expect, it } from 'vitest';
import { mergeRejects } from '../../src/jobs/rejects.js';
import { makeWorld } from '../support/test-environment.js';
import { until } from '../support/until.js';

it('sorts very many rejects of two parts in the order of the input', async () => {
  const world = makeWorld();
  const count = 140_000; // more than a function takes as arguments
  const all = Array.from({ length: count }, (_, line) => `{"source":"in.csv","line":${line}}\n`);
  const parts = [all.filter((_, line) => line !== 7), [all[7]!]];
  const files = parts.map((lines, part) => {
    const file = world.path(`${part}.ndjson`);
    writeFileSync(file, lines.join(''));
    return { file, lines: lines.length };
  });
  const target = world.path('all.ndjson');
  expect(await mergeRejects(files, ['in.csv'], target, world.runtime())).toBe(count);
  expect(readFileSync(target, 'utf8') === all.join('')).toBe(true);
});

it('lets the event loop take its turns while it writes', async () => {
  const world = makeWorld();
  const file = world.path('part');
  const lines = 1000;
  writeFileSync(file, '{"source":"in.csv","line":1}\n'.repeat(lines));
  let turns = 0;
  let isDone = false;
  const turn = () => {
    if (isDone) return;
    turns += readdirSync(world.cwd).some((name) => name.startsWith('.engagectl-')) ? 1 : 0;
    setImmediate(turn);
  };
  turn();
  await mergeRejects([{ file, lines }], ['in.csv'], world.path('all.ndjson'), world.runtime());
  isDone = true;
  expect(turns).toBeGreaterThan(5);
});

it.each(['all.ndjson.gz', 'all.xlsx', 'all.ndjson.zst'])('writes no %s', async (name) => {
  const world = makeWorld();
  const part = world.path('part');
  writeFileSync(part, '{"source":"in","line":1,"stage":"service","error":"x","record":{}}\n');
  const files = [{ file: part, lines: 1 }];
  const merging = mergeRejects(files, ['in'], world.path(name), world.runtime());
  await expect(merging).rejects.toMatchObject({ id: 'E-USAGE' });
  expect(readdirSync(world.cwd)).toEqual(['part']);
});

it('writes no CSV of JSON records, whose numbers would become texts', async () => {
  const world = makeWorld();
  const [part, target] = [world.path('part'), world.path('all.csv')];
  for (const value of ['5', 'true', 'null', '{}']) {
    const record = `{"identity":"a","n":${value}}`;
    writeFileSync(
      part,
      `{"source":"in","line":1,"stage":"service","error":"x","record":${record}}\n`,
    );
    const merging = mergeRejects([{ file: part, lines: 1 }], ['in'], target, world.runtime());
    await expect(merging).rejects.toMatchObject({ id: 'E-USAGE' });
  }
});

it('writes cells of tens of megabytes into a CSV', async () => {
  const world = makeWorld();
  const [part, target] = [world.path('part'), world.path('all.csv')];
  const long = '\\"\\\\x'.repeat(3_500_000);
  const record = `{"identity":"a","No":"007","Text":"${long}"}`;
  writeFileSync(
    part,
    `{"source":"in.csv","line":1,"stage":"service","error":"x","record":${record}}\n`,
  );
  await mergeRejects([{ file: part, lines: 1 }], ['in.csv'], target, world.runtime());
  const text = readFileSync(target, 'utf8');
  expect(text.split('\n')[1]?.slice(0, 9)).toBe('a,007,"""');
  expect(text.endsWith('x",1,service: x\n')).toBe(true);
});

it('keeps columns whose names are numbers in the order of the header', async () => {
  const world = makeWorld();
  const [part, target] = [world.path('part'), world.path('all.csv')];
  const lines = [
    '{"source":"in.csv","line":2,"stage":"validate","error":"x","record":{"identity":"a","2025":"1","2024":"2"}}',
    '{"source":"in.csv","line":3,"stage":"parse","error":"y","record":"b,3","columns":["identity","2025","2024"]}',
  ];
  writeFileSync(part, lines.map((line) => `${line}\n`).join(''));
  await mergeRejects([{ file: part, lines: 2 }], ['in.csv'], target, world.runtime());
  expect(readFileSync(target, 'utf8').split('\n').slice(0, 3)).toEqual([
    'identity,2025,2024,engagectl_line,engagectl_error',
    'a,1,2,2,validate: x',
    'b,3,3,"parse: y"',
  ]);
});

it('keeps each file that has the name already', async () => {
  const world = makeWorld();
  const [part, target] = [world.path('part'), world.path('all.ndjson')];
  writeFileSync(part, '{"source":"in.csv","line":1}\n');
  writeFileSync(target, 'first');
  writeFileSync(`${target}.1`, 'second');
  await mergeRejects([{ file: part, lines: 1 }], ['in.csv'], target, world.runtime());
  const files = [target, `${target}.1`, `${target}.2`];
  expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual([
    '{"source":"in.csv","line":1}\n',
    'second',
    'first',
  ]);
});

it.each<[what: string, damage: (file: string) => void]>([
  ['is missing', (file) => rmSync(file)],
  ['is truncated', (file) => truncateSync(file, 20)],
  ['is not JSON', (file) => writeFileSync(file, 'x\n')],
  ['has no records', (file) => writeFileSync(file, 'null\n')],
  ['has lost a line', (file) => truncateSync(file, 0)],
  ['has an additional line', (file) => appendFileSync(file, '{"source":"in.csv","line":2}\n')],
  ['has one endless line', (file) => truncateSync(file, 300 * 1024 * 1024)],
])('names a rejects file of a part that %s', async (_, damage) => {
  const world = makeWorld();
  const [part, target] = [world.path('part'), world.path('all.ndjson')];
  writeFileSync(part, '{"source":"in.csv","line":1}\n');
  damage(part);
  await expect(
    mergeRejects([{ file: part, lines: 1 }], ['in.csv'], target, world.runtime()),
  ).rejects.toMatchObject({
    id: 'E-FILE-READ',
    message: `cannot read the rejects file ${part}`,
  });
  expect(existsSync(target)).toBe(false);
});

it('reports a target that cannot be written: exit 9', async () => {
  const world = makeWorld();
  const [part, folder] = [world.path('part'), world.path('out')];
  const lines = 1000;
  writeFileSync(part, '{"source":"in.csv","line":1}\n'.repeat(lines));
  mkdirSync(folder);
  const merged = mergeRejects(
    [{ file: part, lines }],
    ['in.csv'],
    `${folder}/all.ndjson`,
    world.runtime(),
  );
  const failed = expect(merged).rejects.toMatchObject({ id: 'E-FILE-WRITE', exitCode: 9 });
  await until(() => readdirSync(folder).length > 0, { message: 'the file is begun' });
  rmSync(folder, { recursive: true });
  await failed;
});

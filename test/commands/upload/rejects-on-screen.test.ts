import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serve } from '../../support/serve.js';

it('prints the first five rejects, then the number of each kind', async () => {
  const { world } = await serve();
  const rows = Array.from({ length: 300 }, (_, n) => {
    if (n % 3 === 0) return `u${n},a,too many`; // cannot be read
    return n % 3 === 1 ? ',nobody' : `u${n},no address`; // breaks a local rule, is refused
  });
  writeFileSync(world.path('users.csv'), ['identity,Email', ...rows, ''].join('\n'));
  const { code, stderr } = await world.run(['upload', 'users.csv']);
  expect(code).toBe(3);
  const lines = stderr.split('\n').filter((line) => line.startsWith('warning: '));
  expect(lines.filter((line) => line.startsWith('warning: users.csv:'))).toHaveLength(5);
  expect(lines.at(-1)).toBe(
    'warning: 300 records in users.csv.rejects.ndjson: 100 parse, 100 validate, 100 service 515',
  );
  expect(lines).toHaveLength(7); // the first is the hint
});

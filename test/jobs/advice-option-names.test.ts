import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { OutputOptions } from '../../src/output/formats.js';
import { openOutput, prepareOutputs } from '../../src/output/document-output.js';
import { pageOf } from '../support/builders/record-page.js';
import { makeWorld } from '../support/test-environment.js';

const options: OutputOptions = {
  path: 'out.csv',
  format: 'csv',
  gzip: false,
  overwrite: false,
  fresh: false,
  escapeFormulas: false,
  bom: false,
  option: (name, value = '') => `<${name}${value && ` ${value}`}>`,
};

it('names options in advice in the style of the caller', async () => {
  const world = makeWorld();
  const prepare = () => prepareOutputs([options], world.runtime(), { ownPartials: false });
  writeFileSync(world.path('out.csv.partial'), 'a\n');
  await expect(prepare()).rejects.toMatchObject({
    details: {
      fix: 'restart with <fresh>, which sets the partial file aside, or choose another <output>',
    },
  });
  writeFileSync(world.path('out.csv'), 'a\n');
  await expect(prepare()).rejects.toMatchObject({
    details: { fix: 'replace it with <overwrite>, or choose another <output>' },
  });
  const nowhere = openOutput({ ...options, path: 'no/out.csv' }, world.runtime());
  await expect(nowhere).rejects.toMatchObject({
    details: { fix: 'create the folder, or choose another <output>' },
  });
  const output = await openOutput({ ...options, path: 'new.csv' }, world.runtime());
  await output.writePage(pageOf(['{"a":"=1"}']));
  await output.seal();
  expect(output.warnings[0]).toContain('; <csvFormulas escape> prevents it');
  await output.abort();
});

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  compressions,
  inputFormatOfName,
  type CompressionName,
} from '../../src/contract/file-formats.js';
import { topicPages } from '../../src/help/topic-pages.js';
import { formatNames, outputFormats } from '../../src/output/formats.js';
import { serve, written } from '../support/serve.js';
import { makeWorld } from '../support/test-environment.js';

// Tests what a new export format or input compression needs besides its row in the table.

/** Compresses a text by each compression; a new one is missing here. */
const compress: Readonly<Record<CompressionName, (text: string) => Buffer>> = { gzip: gzipSync };

const page = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), 'utf8');
const [inputSection = '', outputSection = ''] = page('formats.md').split('\n## Output\n');
const [inputHelp = '', outputHelp = ''] = topicPages.formats.split('Output of exports');

describe.each(Object.keys(compress) as CompressionName[])('the compression %s', (name) => {
  const file = `users.ndjson.${compressions[name].extension}`;

  it('is read from a file with its extension', async () => {
    const world = makeWorld();
    writeFileSync(world.path(file), compress[name]('{"identity":"ann"}\n{"identity":"bob"}\n'));
    const { code, stdout } = await world.run(['upload', file, '--check', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ read: 2, rejected: 0 });
  });

  it('is an error where a file ends in the middle of it', async () => {
    const world = makeWorld();
    writeFileSync(world.path(file), compress[name]('{"identity":"ann"}\n').subarray(0, -1));
    const { code, stderr } = await world.run(['upload', file, '--check']);
    expect(stderr).toContain('E-FILE-READ');
    expect(code).toBe(9);
  });

  it('is written for its extension, or the extension is refused', async () => {
    const { world } = await serve({ seed });
    const { code, stderr } = await world.run([...exportTo, file]);
    if (code === 0) expect(String(gunzipSync(readFileSync(world.path(file))))).toContain('ann');
    else expect(stderr).toContain('is not a supported output format');
  });

  it('is in docs/formats.md and in help formats', () => {
    expect(inputSection).toContain(`\`.${compressions[name].extension}\``);
    expect(inputHelp).toContain(`.${compressions[name].extension}`);
  });

  it('is among the compressions of --seed in docs/local-service.md', () => {
    const formats = /\(NDJSON or a JSON array, also ([^)]*)\)/.exec(page('local-service.md'))?.[1];
    expect(formats).toContain(`\`.${compressions[name].extension}\``);
  });
});

describe.each(
  formatNames.flatMap((format) => outputFormats[format].extensions.map((one) => [one, format])),
)('an export to %s', (extension, format) => {
  const file = `users${extension}`;

  it(`is ${format} that upload reads back, if it reads that extension`, async () => {
    const { world, service } = await serve({ seed });
    const { code, stderr } = await world.run([...exportTo, file]);
    expect(stderr).not.toContain('error');
    expect(code).toBe(0);
    if (inputFormatOfName(file) === undefined) return;
    const again = await world.run(['upload', file]);
    expect(again.code).toBe(0);
    expect(written(service).flat()).toMatchObject([{ identity: 'ann', profileData: texts }]);
  });

  it('is in docs/formats.md and in help formats', () => {
    expect(outputSection).toContain(`\`${extension}\``);
    expect(outputHelp).toContain(extension);
  });
});

/** Texts that need quotes, each for one reason. */
const texts = {
  Comma: 'a,b',
  Semicolon: 'a;b',
  Tab: 'a\tb',
  Bar: 'a|b',
  Quote: '"a"',
  Line: 'a\nb',
};
const seed = [
  { type: 'profile', identity: 'ann', profileData: { ...texts, Note: '' } },
  { type: 'event', identity: 'ann', ts: Date.UTC(2024, 4, 1) / 1000, evtName: 'Charged' },
];
const exportTo = [
  'export-profiles',
  '--event=Charged',
  '--from=2024-05-01',
  '--to=2024-05-01',
  '--output',
];

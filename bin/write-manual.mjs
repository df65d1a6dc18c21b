// Writes the manual pages from the built command tree, and their names into package.json, from which
// npm installs them: part of `npm run build`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { environmentFlags } from '../build/commands/shared/global-options.js';
import { manPages } from '../build/help/man-pages.js';
import { loadTopic, topicNames } from '../build/help/topics.js';
import { buildProgram } from '../build/program.js';
import { nodeRuntime } from '../build/runtime.js';

const folder = new URL('../dist.new/man/', import.meta.url);
const asked = { flags: environmentFlags(), errorId: undefined };
const topics = await Promise.all(
  topicNames.map(async (name) => [name, await loadTopic(name, asked)]),
);
const runtime = nodeRuntime(new AbortController().signal);
const program = await buildProgram(Object.create(runtime, { program: { value: 'engagectl' } }));

// The date of the build, or the one that a reproducible build names.
const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? Date.now() / 1000);
const date = new Date(seconds * 1000).toISOString().slice(0, 10);

mkdirSync(folder, { recursive: true });
const pages = manPages(program, { topics: Object.fromEntries(topics), date });
for (const { file, text } of pages) writeFileSync(new URL(file, folder), text);

const manifestFile = new URL('../package.json', import.meta.url);
const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
const man = pages.map(({ file }) => `dist/man/${file}`).sort();
if (manifest.man.join() !== man.join())
  writeFileSync(manifestFile, `${JSON.stringify({ ...manifest, man }, null, 2)}\n`);

// Writes the manual pages from the built command tree: part of `npm run build`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { environmentFlags } from '../dist/commands/global-options.js';
import { manualPages } from '../dist/help/manual.js';
import { loadTopic, topicNames } from '../dist/help/topics.js';
import { buildProgram } from '../dist/program.js';
import { nodeRuntime } from '../dist/runtime.js';

const folder = new URL('../dist/man/', import.meta.url);
const asked = { flags: environmentFlags(), errorId: undefined };
const topics = await Promise.all(
  topicNames.map(async (name) => [name, await loadTopic(name, asked)]),
);
const program = await buildProgram(nodeRuntime(new AbortController().signal));

// The date of the build, or the one that a reproducible build names.
const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? Date.now() / 1000);
const date = new Date(seconds * 1000).toISOString().slice(0, 10);

mkdirSync(folder, { recursive: true });
for (const { file, text } of manualPages(program, { topics: Object.fromEntries(topics), date })) {
  writeFileSync(new URL(file, folder), text);
}

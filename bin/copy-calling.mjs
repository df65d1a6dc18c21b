// Copies the built calling SDK and the license into packages/calling: its `prepack`. Run `npm run build` first.
import { cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = `${root}packages/calling`;

rmSync(`${target}/dist`, { recursive: true, force: true });
for (const file of ['index.js', 'index.d.ts'])
  cpSync(`${root}dist/calling/cjs/${file}`, `${target}/dist/${file}`);
cpSync(`${root}LICENSE`, `${target}/LICENSE`);

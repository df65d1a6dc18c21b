// Compiles the programs of wasm/ into dist/, each with the parts it imports from folders in there: part of `npm run build`.
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { main as compile } from 'assemblyscript/asc';

const folder = fileURLToPath(new URL('../wasm/', import.meta.url));

for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
  const out = `../dist/${basename(file, '.ts')}.wasm`;
  const options = `--config asconfig.json --outFile ${out}`.split(' ');
  const { error } = await compile([file, ...options, '--baseDir', folder], {
    stderr: process.stderr,
  });
  if (error) process.exitCode = 1;
}

// Compiles the programs of wasm/ into dist/, each with the parts that it imports: part of `npm run build`.
import { fileURLToPath } from 'node:url';
import { main as compile } from 'assemblyscript/asc';

const folder = fileURLToPath(new URL('../wasm/', import.meta.url));

for (const name of ['text', 'key-set']) {
  const options = `--config asconfig.json --outFile ../dist/${name}.wasm`.split(' ');
  const { error } = await compile([`${name}.ts`, ...options, '--baseDir', folder], {
    stderr: process.stderr,
  });
  if (error) process.exitCode = 1;
}

// Compiles the program of wasm/ into dist.new/, with the parts that it imports: part of `npm run build`.
import { fileURLToPath } from 'node:url';
import { main as compile } from 'assemblyscript/asc';

const folder = fileURLToPath(new URL('../wasm/', import.meta.url));

const options = '--config asconfig.json --outFile ../dist.new/text.wasm'.split(' ');
const { error } = await compile(['index.ts', ...options, '--baseDir', folder], {
  stderr: process.stderr,
});
if (error) process.exitCode = 1;

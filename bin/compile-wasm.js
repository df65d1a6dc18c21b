// Compiles the programs of wasm/ into dist/: part of `npm run build`.
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const folder = fileURLToPath(new URL('../wasm/', import.meta.url));

for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
  const out = `../dist/${basename(file, '.ts')}.wasm`;
  const { error, stderr } = await asc.main([
    file,
    '--config',
    'asconfig.json',
    '--outFile',
    out,
    '--baseDir',
    folder,
  ]);
  process.stderr.write(stderr.toString());
  if (error) throw error;
}

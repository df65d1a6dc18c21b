import { join } from 'node:path';
import { format } from 'prettier';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

/** The modules that the package exports. One bundle for each, because a common bundle would share chunks between them. */
const entryPoints = ['index', 'testing', 'calling/index', 'calling/node/index'];

/** Declaration files of each entry point: for `import` and for `require`. */
const filesOf = (name) =>
  name === 'calling/index'
    ? ['calling/index.d.ts', 'calling/cjs/index.d.ts']
    : [`${name}.d.ts`, `${name}.d.cts`];

/**
 * Returns the names and texts of the declaration files of all entry points, made of the build in this folder. Each
 * text is self-contained: it imports nothing but modules of Node.
 */
export async function bundleDeclarations(built) {
  const files = await Promise.all(
    entryPoints.map(async (name) => {
      const text = await bundleEntryPoint(join(built, `${name}.d.ts`));
      return filesOf(name).map((file) => [file, text]);
    }),
  );
  return files.flat();
}

async function bundleEntryPoint(input) {
  const bundle = await rollup({
    input,
    plugins: [dts()],
    external: /^node:/,
    onLog: (_, { message }) => {
      throw new Error(`${input}: ${message}`);
    },
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  const { code } = output[0];
  // Since TypeScript 6, a project has the types of Node only if something asks for them.
  const reference = /'node:|\bNodeJS\./.test(code) ? '/// <reference types="node" />\n' : '';
  return format(reference + code, { parser: 'typescript', singleQuote: true, printWidth: 100 });
}

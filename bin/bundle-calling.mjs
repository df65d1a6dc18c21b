import { join } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * Bundles `engagectl/calling` from the build in this folder: one module without imports, which browsers, React Native
 * and Node load alike. Returns its text as an ES module and as CommonJS, for Jest and for Metro without package exports.
 */
export async function bundleCalling(built) {
  const bundled = await rolldown({
    input: join(built, 'calling/index.js'),
    platform: 'neutral',
    onLog: (_, { message }) => {
      throw new Error(`engagectl/calling: ${message}`);
    },
  });
  const text = async (format) =>
    (await bundled.generate({ format, comments: false, exports: 'named' })).output[0].code;
  return { esm: await text('es'), cjs: await text('cjs') };
}

import { join } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * The text of `engagectl/calling`, made of the build in this folder: one ES module that wants nothing of Node, so that
 * browsers and React Native take the same file. Anything that it would have to import is an error.
 */
export async function bundleCalling(built) {
  const bundled = await rolldown({
    input: join(built, 'calling/index.js'),
    platform: 'neutral',
    onLog: (_, { message }) => {
      throw new Error(`engagectl/calling: ${message}`);
    },
  });
  const { output } = await bundled.generate({ format: 'es', comments: false });
  return output[0].code;
}

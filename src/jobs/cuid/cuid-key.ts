import path from 'node:path';
import { EngagectlError } from '../../errors.js';
import { readText } from '../../files/read-file.js';
import { whyOf } from '../../files/file-errors.js';
import type { World } from '../job-context.js';

/** Characters of the shortest key that cannot be found by trying. */
const fewest = 16;

interface KeyOptions {
  readonly style?: 'slug' | 'hash';
  readonly keyFile?: string;
}

/** The key of the style `hash`; undefined for another one. Throws E-USAGE, E-CONFIG. */
export async function cuidKey(
  { style, keyFile }: KeyOptions,
  { runtime: { cwd, signal }, words }: World,
): Promise<Buffer | undefined> {
  const option = words.option('keyFile', '<file>');
  if (keyFile === undefined) {
    if (style !== 'hash') return undefined;
    throw new EngagectlError('E-USAGE', `the style hash needs ${option}`, {
      why: 'who has no key could try out addresses and numbers until their cuids appear',
      fix: 'make a key once and keep it: openssl rand -hex 32 > cuid.key',
    });
  }
  if (style === 'slug') {
    throw new EngagectlError('E-USAGE', 'the style slug takes no key', {
      why: 'a slug is readable: it hides nothing',
      fix: `leave out ${option}`,
    });
  }
  const text = await readText(path.resolve(cwd, keyFile), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-CONFIG', `the key cannot be read from ${keyFile}`, {
      why: whyOf(cause),
      fix: `name a readable file with ${option}`,
      file: keyFile,
      cause,
    });
  });
  const key = text.replace(/\r?\n$/, '');
  if (key.length >= fewest) return Buffer.from(key);
  throw new EngagectlError(
    'E-CONFIG',
    `the key in ${keyFile} is shorter than ${fewest} characters`,
    {
      why: 'it could be found by trying',
      fix: 'make one, and keep it: openssl rand -hex 32 > cuid.key',
      file: keyFile,
    },
  );
}

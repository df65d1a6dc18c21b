import path from 'node:path';
import { EngagectlError } from '../../errors.js';
import { readText } from '../../files/read-text.js';
import { whyOf } from '../../files/why-of.js';
import { JsonText } from '../../mapping/json-text.js';
import type { World } from '../world.js';

type JsonRuntime = Pick<World['runtime'], 'cwd' | 'signal'>;

/** The value of a file of one JSON text. Throws E-FILE-READ, E-FORMAT, which quotes nothing of it. */
export async function readJsonFile(file: string, runtime: JsonRuntime): Promise<unknown> {
  return parsed(await textOf(file, runtime), file);
}

async function textOf(file: string, { cwd, signal }: JsonRuntime): Promise<string> {
  return readText(path.resolve(cwd, file), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-FILE-READ', `${file} could not be read`, {
      why: whyOf(cause),
      fix: 'name a readable file',
      file,
      cause,
    });
  });
}

/** Not JSON.parse alone: it takes the last of two equal keys in silence, and its errors quote the file. */
function parsed(text: string, file: string): unknown {
  const bytes = Buffer.from(text.replace(/^\uFEFF/, ''));
  const json = new JsonText();
  if (json.read(bytes, 0, bytes.length)) return JSON.parse(bytes.toString());
  const before = bytes.toString('utf8', 0, json.faultAt).split('\n');
  const [line, column] = [before.length, Buffer.byteLength(before.at(-1)!) + 1];
  throw new EngagectlError('E-FORMAT', `${file}:${line}:${column}: JSON ${json.fault}`, {
    why: 'the file has to hold one JSON text',
    fix: 'correct it there',
    file,
    line,
    column,
  });
}

import path from 'node:path';
import { EngagectlError } from '../../errors.js';
import { readText } from '../../files/read-file.js';
import { whyOf } from '../../files/file-errors.js';
import { parseJsonFile } from '../../text/json-parser.js';
import type { World } from '../job-context.js';

type JsonRuntime = Pick<World['runtime'], 'cwd' | 'signal'>;

/** The value of a file of one JSON text. Throws E-FILE-READ, E-FORMAT, which quotes nothing of it. */
export async function readJsonFile(file: string, runtime: JsonRuntime): Promise<unknown> {
  return parseJsonFile(await textOf(file, runtime), file, {
    id: 'E-FORMAT',
    why: 'the file has to hold one JSON text',
    fix: 'correct it there',
  });
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

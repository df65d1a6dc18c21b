import { Writable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { EngagectlError } from '../errors.js';
import { nextTurn } from '../event-loop.js';
import { sanitize } from './sanitize.js';
import { sanitizeLine } from '../wording.js';
import { isSwitchOn } from './display-settings.js';
import { grouped } from './format.js';
import type { ReadLineOptions } from 'node:readline/promises';
import type { Runtime } from '../runtime.js';

type AskRuntime = Pick<Runtime, 'stdin' | 'stderr' | 'signal' | 'sleep' | 'env'>;

/** Whether somebody sits at a terminal and may be asked. */
export const canPrompt = ({
  stdin,
  stderr,
  env,
}: Pick<AskRuntime, 'stdin' | 'stderr' | 'env'>): boolean =>
  stdin.isTTY === true && stderr.isTTY === true && !isSwitchOn(env['ENGAGECTL_NO_INPUT']);

/** Returns after the expected number or word was typed; otherwise throws E-CONFIRM. Ctrl-C ends the run. */
export async function confirmByTyping(
  { word, noun }: { readonly word: string; readonly noun: 'number' | 'region' },
  runtime: AskRuntime,
): Promise<void> {
  const typed = (await ask(`Type ${sanitize(word)} to continue: `, runtime)).trim();
  if (typed === word || (noun === 'number' && typed.replaceAll(',', '') === word)) return;
  throw new EngagectlError('E-CONFIRM', 'not confirmed: nothing was done', {
    why: `what was typed is not ${noun === 'number' ? word : `the ${noun}, ${word}`}`,
    fix: `run it again and type the ${noun}, or add --yes`,
  });
}

/** Reads a line from a terminal without echo. Throws E-INTERRUPTED on Ctrl-C. */
export async function askSecret(question: string, runtime: AskRuntime): Promise<string> {
  const { stdin, stderr, signal } = runtime;
  // As a terminal, readline turns the echo off and writes each key to `output` itself.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const hidden = { input: stdin, output: nowhere, terminal: true, historySize: 0 };
  await discardTyped(runtime);
  stderr.write(question);
  try {
    return await readAnswer('', hidden, signal);
  } finally {
    stderr.write('\n');
  }
}

/** Whether `y` was typed in answer to a question of one line. Throws the reason of `over` if the question no longer needs an answer. */
export async function askYesNo(
  question: string,
  { stdin, stderr, signal, sleep }: Omit<AskRuntime, 'env'>,
  over: AbortSignal,
): Promise<boolean> {
  const from = { stdin, stderr, sleep, signal: AbortSignal.any([signal, over]) };
  const typed = await ask(sanitizeLine(question), from);
  return /^y(es)?$/i.test(typed.trim());
}

/** Returns the index of the choice whose number was typed; undefined for anything else. */
export async function askChoice(
  question: string,
  choices: readonly string[],
  runtime: AskRuntime,
): Promise<number | undefined> {
  const lines = choices.map((choice, at) => `  ${at + 1}  ${choice}\n`);
  runtime.stderr.write(sanitize(`${question}\n${lines.join('')}`));
  const typed = await ask(`Type a number from 1 to ${choices.length}: `, runtime);
  const chosen = /^\d+$/.test(typed.trim()) ? Number(typed) - 1 : -1;
  return chosen >= 0 && chosen < choices.length ? chosen : undefined;
}

/** Asks a question, which nothing answers that was typed before. Returns an empty string at the end of input. */
async function ask(question: string, runtime: Omit<AskRuntime, 'env'>): Promise<string> {
  const { stdin, stderr, signal } = runtime;
  await discardTyped(runtime);
  return readAnswer(question, { input: stdin, output: stderr, terminal: false }, signal);
}

/** Milliseconds without input after which nothing is pending in a terminal. */
const quietMs = 10;

/** Reads away what was typed at a terminal, in raw mode, so that half a line does not begin the answer, either. */
async function discardTyped({
  stdin,
  signal,
  sleep,
}: Pick<AskRuntime, 'stdin' | 'signal' | 'sleep'>): Promise<void> {
  if (!(stdin instanceof ReadStream)) return;
  let typed: Buffer | undefined;
  const onData = (chunk: Buffer) => (typed = chunk);
  stdin.setRawMode(true).on('data', onData).resume();
  try {
    do {
      typed = undefined;
      await sleep(quietMs, signal);
      await nextTurn(); // on a busy machine the time passes before the terminal was read once
    } while (typed !== undefined);
  } finally {
    stdin.off('data', onData).pause().setRawMode(false);
  }
}

async function readAnswer(
  question: string,
  from: ReadLineOptions,
  signal: AbortSignal,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface(from);
  const stop = new AbortController();
  lines.once('SIGINT', () => stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by Ctrl-C')));
  lines.once('close', () => stop.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, stop.signal]) });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (stop.signal.reason instanceof EngagectlError) throw stop.signal.reason;
    if (stop.signal.aborted) return '';
    throw error;
  } finally {
    lines.close();
  }
}

/** A write that cannot be undone. */
interface IrreversibleWrite {
  readonly command: string;
  /** Effect that cannot be undone, as a clause. */
  readonly irreversible: string;
  readonly accountId: string;
  readonly region: string;
  /** Whether the config profile is marked production. */
  readonly production: boolean;
  readonly files: readonly string[];
  /** Number of distinct identities. */
  readonly count: number;
  readonly firstIdentities: readonly string[];
}

/**
 * Returns after `--yes`, or after the count was typed at the terminal; true if it was typed. Otherwise, or if
 * nobody can be asked, throws E-CONFIRM (exit 2, nothing was sent). `inputIsStdin`: standard input carries the
 * identities.
 */
export async function confirmIrreversible(
  write: IrreversibleWrite,
  { yes, inputIsStdin }: { readonly yes: boolean; readonly inputIsStdin: boolean },
  runtime: AskRuntime,
): Promise<boolean> {
  if (yes) return false;
  if (inputIsStdin || !canPrompt(runtime))
    throw new EngagectlError(
      'E-CONFIRM',
      `${write.command} requires a confirmation, and there is no terminal to ask on`,
      {
        why: inputIsStdin
          ? 'standard input carries the identities'
          : 'standard input or standard error is not a terminal, or --no-input was given',
        fix: `add --yes when you are sure: ${write.irreversible}`,
      },
    );
  runtime.stderr.write(description(write));
  await confirmByTyping({ word: String(write.count), noun: 'number' }, runtime);
  return true;
}

function description(write: IrreversibleWrite): string {
  const { command, irreversible, accountId, region, production, files, count, firstIdentities } =
    write;
  const lines = firstIdentities.map(
    (identity) => `  ${sanitize(identity).replaceAll('\n', ' ')}\n`,
  );
  const more = count - firstIdentities.length;
  return (
    `${command}: ${count === 1 ? '1 identity' : `${grouped(count)} identities`} of ${sanitize(files.join(', '))} in ` +
    `${production ? 'PRODUCTION ' : ''}account ${sanitize(accountId)}, region ${sanitize(region)}:\n` +
    lines.join('') +
    (more > 0 ? `  and ${grouped(more)} more\n` : '') +
    `This cannot be undone: ${irreversible}.\n`
  );
}

/** A write to a production account to confirm. */
interface ProductionWrite {
  readonly command: string;
  /** Verb phrase, like `creates or updates user profiles`. */
  readonly does: string;
  readonly files: readonly string[];
  readonly profile: string | undefined;
  readonly accountId: string;
  readonly region: string;
  readonly baseUrl: string;
}

/**
 * Returns after the region was typed at the terminal, since the wrong account is the most likely
 * mistake; true if it was typed. Without a terminal it returns immediately. Otherwise throws E-CONFIRM (exit 2).
 */
export async function confirmWrite(write: ProductionWrite, runtime: AskRuntime): Promise<boolean> {
  if (!canPrompt(runtime)) {
    requireConsent(runtime);
    return false;
  }
  const { command, does, files, profile, accountId, region, baseUrl } = write;
  const account = `account ${accountId}, region ${region} (${baseUrl}), config profile "${profile}"`;
  runtime.stderr.write(
    sanitize(`PRODUCTION ${account}\n  ${command} ${files.join(' ')}: ${does}\n`),
  );
  await confirmByTyping({ word: region, noun: 'region' }, runtime);
  return true;
}

/** On a terminal, `--no-input` is not consent; without one, nobody can be asked. */
function requireConsent({ stdin, stderr }: AskRuntime): void {
  if (stdin.isTTY !== true || stderr.isTTY !== true) return;
  throw new EngagectlError('E-CONFIRM', 'a write to a production account asks on a terminal', {
    why: '--no-input was given',
    fix: 'add --yes when you are sure',
  });
}

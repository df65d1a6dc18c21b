import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exitCodes } from '../../src/errors.js';
import { sanitize } from '../../src/ui/sanitize.js';
import { withProgramName, powershellWord, shellPath, quoteForShell } from '../../src/wording.js';
import { hasCommand } from '../support/has-command.js';
import { startService } from '../../src/testing.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { anyCharacter } from '../support/any-character.js';

// Lines that are printed to be pasted name files and columns of others. Each line is run in each shell, and the words that a
// program receives there must be those that were meant: nothing in a name is expanded, executed or split.

/** How a shell reads lines as a person types them: with history expansion, and options that change quoting. */
const shells: Readonly<Record<string, { argv: readonly string[]; before: string }>> = {
  bash: {
    argv: ['--noprofile', '--norc', '-i'],
    before: 'set -o histexpand; shopt -s extglob; echo x\n',
  },
  zsh: {
    argv: ['-f', '-i', '-s'],
    before: 'setopt banghist extendedglob rcquotes magicequalsubst; echo x\n',
  },
  fish: { argv: ['--no-config'], before: '' },
  pwsh: { argv: ['-NoProfile', '-NonInteractive', '-Command', '-'], before: '' },
};

/** Programs that write down the words they receive. */
const recorder = `#!/bin/bash
printf '%s\\0' "$#" "\${0##*/}" "$@" >> "$RECORD"
`;
const programs = ['engagectl', 'gzip', 'gunzip', 'head', 'chmod', 'show'];

/** Runs lines in a shell; returns the words of each program that was started. */
function received(world: World, shell: string, lines: readonly string[]): string[][] {
  const { argv, before } = shells[shell]!;
  const folder = world.path('..', 'recorders');
  const record = path.join(folder, 'record');
  mkdirSync(folder, { recursive: true });
  for (const name of programs) {
    writeFileSync(path.join(folder, name), recorder);
    chmodSync(path.join(folder, name), 0o700);
  }
  writeFileSync(record, '');
  const script = path.join(folder, 'script');
  writeFileSync(script, `${before}${lines.join('\n')}\n`);
  const readsStdin = argv.length > 1;
  const { error } = spawnSync(shell, readsStdin ? argv : [...argv, script], {
    ...(readsStdin && { input: readFileSync(script) }),
    cwd: world.cwd,
    env: {
      PATH: `${folder}:${process.env['PATH']}`,
      RECORD: record,
      HOME: folder,
      TERM: 'dumb',
      LC_ALL: 'C.UTF-8',
      HISTFILE: '/dev/null',
    },
    timeout: 60_000,
  });
  if (error) throw error;
  const words = readFileSync(record, 'utf8').split('\0');
  const calls = [];
  for (let at = 0; at < words.length - 1;) {
    const end = at + 2 + Number(words[at]);
    calls.push(words.slice(at + 1, end));
    at = end;
  }
  return calls;
}

const hostile = [
  '$(touch hit)',
  '`touch hit`',
  '${HOME}',
  '\\',
  '\\\\',
  "'",
  "'\\\n",
  "\\'",
  '"',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '-',
  '!',
  '!!',
  '!x',
  '~',
  '~/',
  '=ls',
  '%self',
  '*',
  '?',
  '{a,b}',
  '[a]',
  '(touch hit)',
  ';touch hit;',
  '&',
  '|',
  '<',
  '>hit',
  '#',
  '##[error]',
  '##vso[task]',
  '##teamcity[task]',
  '\n::error::',
  '^a^b',
  '👩‍🚀',
  'é',
  '\u2018;touch hit;\u2019',
  '\u0001',
  '%s%d\u001B-n',
  '\u001B[2J',
  '\u001B]0;title\u0007',
  '\u0085',
  '\u009B31m',
  '\u202E',
  '\u2028',
  '\u00A0',
  '\uFEFF',
  '\uFFFD',
  'engagectl runs list',
  'a',
];

/** A NUL cannot be a part of a word. */
const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom(...hostile),
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 3 }),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join('').replaceAll('\u0000', ''));

interface Place {
  readonly names?: readonly string[];
  /** Names that can stand in this place; all by default. */
  readonly text?: (name: string) => boolean;
  /** The words of the line that is printed. */
  readonly meant: (name: string, world: World) => string[];
  /** The line, as it is printed. */
  readonly printed: (world: World, name: string) => Promise<string>;
}

const hostileNames = [
  'a $(touch hit) `touch hit`',
  '-rf ~ !x "it\'s" \\ \\\\',
  'a\n::error::b\u001B[2J\u0085\u202E👩‍🚀',
  "'; touch hit; '\u2018;touch hit;\u2019",
  'ends with newlines\n\n',
];
const asOperand = (name: string) => (name.startsWith('-') ? `./${name}` : name);
const isColumn = (name: string) => !name.endsWith('\n');
const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** Up to the end by default. */
function between(text: string, before: string, behind = '\u0000'): string {
  const start = text.indexOf(before);
  expect(start, `${before} is not in ${text}`).toBeGreaterThanOrEqual(0);
  const end = text.indexOf(behind, start + before.length);
  return text.slice(start + before.length, end < 0 ? undefined : end);
}

/** The whole text behind a mark up to a line of ours. */
const told = async (world: World, argv: readonly string[], options = {}) => {
  const { stdout, stderr } = await world.run(argv, options);
  return `${stdout}${stderr}`;
};

const oneByOne = ['--chunk-size', '1', '--concurrency', '1', '--max-attempts', '1'];
const operand = (name: string) => ['--', name];

const places: Readonly<Record<string, Place>> = {
  'gzip -t': {
    meant: (name) => ['gzip', '-t', asOperand(`${name}.csv.gz`)],
    printed: async (world, name) => {
      const whole = gzipSync('identity,City\nann,Oslo\n'.repeat(50));
      writeFileSync(world.path(`${name}.csv.gz`), whole.subarray(0, whole.length - 12));
      const text = await told(world, ['upload', '--check', ...operand(`${name}.csv.gz`)]);
      return between(text, 'check it with: ', '; then fetch the file again');
    },
  },
  'the files of a directory': {
    meant: (name) => ['show', `${asOperand(name)}/a.csv`, `${asOperand(name)}/b.csv`],
    printed: async (world, name) => {
      mkdirSync(world.path(name));
      for (const file of ['a.csv', 'b.csv']) writeFileSync(world.path(name, file), '');
      const text = await told(world, ['upload', '--check', ...operand(name)]);
      return `show ${between(text, 'name the files in it, for example ', '\n  more: ')}`;
    },
  },
  'the type of a column': {
    text: isColumn,
    meant: (name) => ['show', '--types', `${name}:date`],
    printed: async (world, name) => {
      writeFileSync(world.path('in.csv'), `identity,${cell(name)}\nann,2024-01-01\n`);
      const text = await told(world, ['upload', '--preview=5', 'in.csv']);
      return `show ${between(text, 'fix: ', '\n')}`;
    },
  },
  'another name of a column': {
    names: ['e$(mail)', "e'`\\mail", '-E-mail!\u001B\u202E'],
    meant: (name) => ['show', '--map', `${name}=Email`],
    printed: async (world, name) => {
      writeFileSync(world.path('in.csv'), `identity,${cell(name)}\nann,a@example.com\n`);
      const text = await told(world, ['upload', '--preview=5', 'in.csv']);
      return `show ${between(text, 'fix: ', '\n')}`;
    },
  },
  'the column that is the identity': {
    text: isColumn,
    meant: (name) => ['show', '--identity', `${name} id`],
    printed: async (world, name) => {
      writeFileSync(world.path('in.csv'), `City,${cell(`${name} id`)}\nOslo,1\n`);
      const text = await told(world, ['upload', '--check', 'in.csv']);
      return `show ${between(text, 'fix: add ', ' if that column identifies')}`;
    },
  },
  'the upload behind its check': {
    meant: (name) => ['engagectl', 'upload', asOperand(`${name}.csv`), `--identity=${name} id`],
    printed: async (world, name) => {
      writeFileSync(world.path(`${name}.csv`), `City,${cell(`${name} id`)}\nOslo,1\n`);
      const flags = [`--identity=${name} id`];
      const argv = ['upload', '--check', ...flags, ...operand(`${name}.csv`)];
      const text = await told(world, argv, { tty: { stderr: true } });
      return between(text, '  next      ').trimEnd();
    },
  },
  'a run that is unfinished': {
    meant: (name) => [
      'engagectl',
      'upload',
      `--identity=${name} id`,
      ...oneByOne,
      '--',
      `${name}.csv`,
    ],
    printed: async (world, name) => {
      const service = await startService();
      onTestFinished(() => service.close());
      await service.fault({ after: 1, answer: { status: 503 } });
      writeFileSync(world.path(`${name}.csv`), `City,${cell(`${name} id`)}\nOslo,ann\nOslo,bob\n`);
      const argv = ['upload', `--identity=${name} id`, ...oneByOne, ...operand(`${name}.csv`)];
      const { code, stderr } = await world.run(argv, { env: service.env });
      expect(code, stderr).toBe(exitCodes.unavailable);
      const listed = await world.run(['runs', 'list', '--json']);
      const { runs } = JSON.parse(listed.stdout) as { runs: { command: string }[] };
      return runs[0]!.command;
    },
  },
  'a look at what was exported': {
    meant: (name) => ['head', '-n', '3', asOperand(`${name}.ndjson`)],
    printed: async (world, name) => {
      const service = await startService();
      onTestFinished(() => service.close());
      writeFileSync(world.path('seen.csv'), 'identity\nann\n');
      const event = ['--type', 'event', '--event-name', 'Seen', '--ts', 'now'];
      const { code } = await world.run(['upload', ...event, 'seen.csv'], { env: service.env });
      expect(code).toBe(0);
      const range = ['--event', 'Seen', '--from', '20240101', '--to', '20240101'];
      const argv = ['export-events', ...range, `--output=${name}.ndjson`];
      const text = await told(world, argv, { env: service.env, tty: { stderr: true } });
      return between(text, '  next      ').trimEnd();
    },
  },
};

describe.each(['bash', 'zsh', 'fish'])('%s', (shell) => {
  const installed = hasCommand(shell, 'lines to paste are not tried in it');

  it.skipIf(!installed)('pastes any text unchanged', { timeout: 120_000 }, () => {
    const world = makeWorld();
    fc.assert(
      fc.property(fc.array(texts, { minLength: 40, maxLength: 60 }), (words) => {
        const all = [...hostile, ...words];
        const lines = all.map((word) => `show ${quoteForShell(word)} end`);
        for (const line of lines)
          expect(withProgramName(sanitize(line), 'npx engagectl')).toBe(line);
        expect(received(world, shell, lines)).toEqual(all.map((word) => ['show', word, 'end']));
      }),
      { numRuns: 6 },
    );
  });

  it.skipIf(!installed).each(Object.keys(places))('%s', { timeout: 60_000 }, async (name) => {
    const { text = () => true, meant, printed, names = hostileNames } = places[name]!;
    for (const each of names.filter(text)) {
      const world = makeWorld();
      const line = await printed(world, each);
      expect(line, 'a line of ours is not changed by what makes it harmless').toBe(sanitize(line));
      expect(received(world, shell, [line]), line).toEqual([meant(each, world)]);
    }
  });
});

const singleQuote = /['‘’‚‛]/;
const doubleQuote = /["“”„]/;
/** Ends a word that starts without quotes. */
const wordEnd = /[\s\0&(),;{}|]/;

/**
 * Splits the arguments of a command as PowerShell does (`tokenizer.cs`): a word that starts with a quote ends at the closing
 * one; in any other word, quoted parts are joined. A doubled quote within quotes is one character. Throws if a part is
 * executed, expanded or an operator.
 */
function powershellArguments(line: string): string[] {
  const words: string[] = [];
  let at = 0;
  const quoted = () => {
    const quote = singleQuote.test(line[at]!) ? singleQuote : doubleQuote;
    let text = '';
    for (at += 1; at < line.length; at += 1) {
      const character = line[at]!;
      if (quote.test(character)) {
        if (!quote.test(line[at + 1] ?? '')) break;
        at += 1;
      } else if (quote === doubleQuote && /[$`]/.test(character))
        throw new Error(`expands ${line}`);
      text += line[at];
    }
    if (at === line.length) throw new Error(`unfinished: ${line}`);
    at += 1;
    return text;
  };
  const isQuote = () => singleQuote.test(line[at]!) || doubleQuote.test(line[at]!);
  while (at < line.length) {
    if (/\s/.test(line[at]!)) at += 1;
    else if (isQuote()) words.push(quoted());
    else {
      // A parameter ends at a dot or colon, and a dot before a quote runs a file.
      if (/^(?:-[\p{L}_?][^\s'"]*[.:]|\.['"]|[@#<>$`]|--%|[1-6]>)/u.test(line.slice(at)))
        throw new Error(`is not one word: ${line}`);
      let word = '';
      while (at < line.length && !/\s/.test(line[at]!)) {
        if (isQuote()) word += quoted();
        else if (wordEnd.test(line[at]!) || /[$`]/.test(line[at]!))
          throw new Error(`expands or ends: ${line}`);
        else word += line[at++];
      }
      words.push(word);
    }
  }
  return words;
}

/** Texts that no spelling passes to all four shells: see docs/security.md. */
const notForPowershell = (text: string) =>
  /\\(?:\\|$)|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) ||
  (/^(?!\.{0,2}\/|\.?\w|[+-])/.test(text) &&
    (/#(?:vso|teamcity)?\[|engagectl /.test(text) ||
      (singleQuote.test(text) && /[$`!"“”„]/.test(text))));

it.each([
  "O'Brien.csv",
  'team’s list.csv',
  String.raw`a\b.csv`,
  "'s",
  "it's $5",
  'a,b',
  ',',
  '-a.b',
])('quotes %s for PowerShell, too', (text) => {
  expect(powershellArguments(`show ${quoteForShell(text)} end`)).toEqual(['show', text, 'end']);
});

it('quotes any text for PowerShell, too, and nothing of it is expanded there', () => {
  fc.assert(
    fc.property(texts, (text) => {
      if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)) return;
      const words = powershellArguments(`show ${quoteForShell(text)} end`);
      if (!notForPowershell(text)) expect(words).toEqual(['show', text, 'end']);
    }),
    { numRuns: 5000 },
  );
});

it('doubles all quote characters that PowerShell recognizes', () => {
  expect(powershellWord(String.raw`C:\users\it's $(calc) ‘;calc;’.csv`)).toBe(
    String.raw`'C:\users\it''s $(calc) ‘‘;calc;’’.csv'`,
  );
  expect(powershellWord('@args')).toBe("'@args'");
  expect(powershellWord('users.csv')).toBe('users.csv');
});

it.skipIf(!hasCommand('pwsh', 'lines to paste are not tried in it'))(
  'pastes any text unchanged into PowerShell',
  () => {
    const world = makeWorld();
    const words = hostile.filter((word) => !/[\n\r]/.test(word));
    const lines = words.map((word) => `show ${powershellWord(word)} end`);
    expect(received(world, 'pwsh', lines)).toEqual(words.map((word) => ['show', word, 'end']));
    const inEveryShell = words.filter((word) => !notForPowershell(word));
    const quoted = inEveryShell.map((word) => `show ${quoteForShell(word)} end`);
    expect(received(world, 'pwsh', quoted)).toEqual(
      inEveryShell.map((word) => ['show', word, 'end']),
    );
  },
);

it('does not mistake a file name with a leading dash for a flag', () => {
  expect(shellPath('-rf')).toBe('./-rf');
  expect(shellPath('-$x')).toBe("'./-$x'");
  expect(shellPath('-')).toBe('-');
});

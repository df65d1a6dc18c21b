import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasCommand } from '../support/has-command.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { binPath } from '../support/processes/bin-process.js';

let world: World;
beforeEach(async () => {
  world = makeWorld();
  await savedRegion('eu1');
  await savedRegion('us1', '--profile', 'staging');
});

const savedRegion = (region: string, ...more: string[]) =>
  world.run(
    [
      'config',
      'set',
      '--region',
      region,
      '--account-id',
      'A',
      '--passcode-stdin',
      '--no-check',
      ...more,
    ].concat('--base-url', 'https://eu1.example.com'),
    { stdin: 'passcode\n' },
  );

/** What Tab offers at the end of a line, by the shell's own means; sorted. */
type Offered = (line: string) => string[];

/** The environment of a shell in which `engagectl` is the built program. */
function surroundings(): NodeJS.ProcessEnv {
  mkdirSync(world.path('bin'), { recursive: true });
  const shim = `#!/bin/sh\nexec "${process.execPath}" "${binPath}" "$@"\n`;
  writeFileSync(world.path('bin/engagectl'), shim);
  chmodSync(world.path('bin/engagectl'), 0o700);
  return {
    PATH: `${world.path('bin')}:${process.env['PATH']}`,
    HOME: world.cwd,
    TERM: 'xterm',
    ENGAGECTL_CONFIG_DIR: world.configDir,
    ENGAGECTL_STATE_DIR: world.stateDir,
  };
}

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout, stderr } = await world.run(['completion', shell]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  writeFileSync(world.path(`engagectl.${shell}`), stdout);
  return world.path(`engagectl.${shell}`);
}

const lines = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .toSorted();

/** Sources the script twice and calls its function as bash would. */
function bash(script: string): Offered {
  const program = `
    source "$1"; source "$1"; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _engagectl
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  return (line) => {
    const words = line
      .split(/ |([=:])/)
      .filter((word, at, all) => word !== undefined && (word !== '' || all[at - 1] !== ':'));
    const argv = ['-c', program, 'bash', script, ...words];
    const where = { env: surroundings(), cwd: world.cwd, encoding: 'utf8' } as const;
    const { stdout, stderr } = spawnSync('bash', argv, where);
    expect(stderr).toBe('');
    return lines(stdout);
  };
}

function fish(script: string): Offered {
  return (line) => {
    const program = `source $argv[1]; source $argv[1]; complete -C $argv[2]`;
    const stdout = execFileSync('fish', ['--no-config', '-c', program, script, line], {
      env: surroundings(),
      cwd: world.cwd,
      encoding: 'utf8',
    });
    return lines(stdout.replaceAll(/\t.*/g, ''));
  };
}

/** A list stands in quotes there: PowerShell takes a bare comma for its own. */
function pwsh(script: string): Offered {
  const program = `Get-Content -Raw $env:SCRIPT | Invoke-Expression
    (TabExpansion2 $env:LINE $env:LINE.Length).CompletionMatches | ForEach-Object ListItemText`;
  return (line) => {
    const { stdout } = spawnSync('pwsh', ['-NoProfile', '-NonInteractive', '-Command', program], {
      env: { ...surroundings(), SCRIPT: script, LINE: line.replace(/\S*,\S*$/, "'$&'") },
      cwd: world.cwd,
      encoding: 'utf8',
    });
    return lines(stdout);
  };
}

const shells = { bash, fish, pwsh } as const;

const scriptOf = (shell: string) => scriptFor(shell === 'pwsh' ? 'powershell' : shell);

describe.each(['bash', 'fish', 'pwsh'] as const)('%s', (shell) => {
  const installed = hasCommand(shell, 'its completion is not tried');
  const offered = async (line: string) => shells[shell](await scriptOf(shell))(line);

  it.skipIf(!installed).each([
    ['engagectl exp', ['export-events', 'export-profiles']],
    ['engagectl config se', ['set']],
    ['engagectl --region eu1 --json config se', ['set']],
    ['engagectl upload --chunk-', ['--chunk-bytes', '--chunk-size']],
    ['engagectl upload --regi', ['--region']],
    ['engagectl upload --progress ', ['always', 'auto', 'never']],
    ['engagectl subscribe --type ', ['email', 'phone', 'whatsapp']],
    ['engagectl --profile ', ['default', 'staging']],
    ['engagectl config use st', ['staging']],
    ['engagectl upload --region ', ['eu1', 'local', 'us1']],
    ['engagectl help exit', ['exit-codes']],
    ['engagectl completion z', ['zsh']],
    ['engagectl help errors E-CUR', ['E-CURSOR']],
    ['engagectl help config se', ['set']],
    ['engagectl export-events --from last-', ['last-month', 'last-week']],
    ['engagectl upload --encoding utf-16', ['utf-16be', 'utf-16le']],
    ['engagectl upload --locale en', ['en-GB', 'en-US']],
    ['engagectl export-events --event ', []],
    ['engagectl upload --limit ', []],
    ['engagectl config use staging ', []],
    ['engagectl --region eu1 config use staging --json s', []],
    ['engagectl completion zsh ', []],
    ['engagectl help errors E-CURSOR E-', []],
  ])('offers for %s: %j', async (line, expected) => {
    expect(await offered(line)).toEqual(expected);
  });
});

it.skipIf(!hasCommand('bash', 'its completion is not tried'))(
  'bash: completes a value after =',
  async () => {
    expect(bash(await scriptFor('bash'))('engagectl upload --input-format=n')).toEqual(['ndjson']);
  },
);

it.skipIf(!hasCommand('bash', 'its completion is not tried')).each([
  ['--types City:', ['boolean', 'date', 'integer', 'json', 'number', 'string']],
  ['--types City:d', ['date']],
  ['--types City:date,Age:i', ['integer']],
  ['--types=City:d', ['date']],
  ['--base-url http:', []],
])('bash: completes a value after a colon: %s', async (words, expected) => {
  expect(bash(await scriptFor('bash'))(`engagectl upload ${words}`)).toEqual(expected);
});

describe.each(['bash', 'zsh', 'fish'])('%s', (shell) => {
  const installed = hasCommand(shell, 'the syntax of its completion is not checked');
  it.skipIf(!installed)('passes its linter', async () => {
    const { status, stderr } = spawnSync(shell, ['-n', await scriptFor(shell)], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

describe('columns of the input', () => {
  const places = [
    ['upload users.csv --identity ', ['City', 'MSG-email', 'Signed Up', 'id']],
    ['upload users.csv --object-id M', ['MSG-email']],
    ['upload --rejects other.csv users.csv --map C', ['City']],
    ['upload users.csv --only City,i', ['City,id']],
    ['upload users.csv --only City,', ['City,MSG-email', 'City,Signed Up', 'City,id']],
    ['upload wide.tsv.gz --types s', ['size']],
    ['upload semi.csv --delimiter ; --identity x', ['x']],
    ['upload semi.csv --identity x', ['x']],
    ['upload none.csv --types x:date,City:', ['boolean', 'date', 'integer', 'json', 'number', 'string'].map((name) => `x:date,City:${name}`)], // prettier-ignore
    ['upload users.csv --types City:date,i', ['City:date,id']],
    ['cuid check users.csv --column i', ['id']],
    ['upload none.csv --identity ', []],
    ['upload broken.csv --identity ', []],
    ['upload folder.csv --identity ', []],
    ['upload --identity ', []],
  ] as const;

  beforeEach(() => {
    const csv = 'id,City,Signed Up,"MSG-email","$(reboot)","a`b"\nu1,Oslo,,,,\n';
    writeFileSync(world.path('users.csv'), csv);
    writeFileSync(world.path('other.csv'), 'Country\nNorway\n');
    writeFileSync(world.path('wide.tsv.gz'), gzipSync('size\tid\nL\tu1\n'));
    writeFileSync(world.path('semi.csv'), 'x;y\n1;2\n');
    writeFileSync(world.path('broken.csv'), 'id,id\n"');
    mkdirSync(world.path('folder.csv'));
  });

  it.each(places)('%s: __complete offers %j', async (line, expected) => {
    expect(await completed(line)).toEqual(expected);
  });

  const typed = [
    ['engagectl upload users.csv --identity ', ['City', 'MSG-email', 'Signed Up', 'id']],
    ['engagectl upload users.csv --only City,i', ['City,id']],
    ['engagectl upload --region local users.csv --check --drop M', ['MSG-email']],
    ['engagectl upload broken.csv --identity ', []],
  ] as const;

  describe.each(['bash', 'fish', 'pwsh'] as const)('%s', (shell) => {
    it.skipIf(!hasCommand(shell, 'its completion is not tried')).each(typed)(
      '%s',
      async (line, expected) => {
        const offered = shells[shell](await scriptOf(shell))(line);
        expect(offered.map((name) => name.replace('\\ ', ' '))).toEqual(expected);
      },
    );
  });

  it
    .skipIf(
      !hasCommand('zsh', 'its completion is not tried') || !hasCommand('script', 'no terminal'),
    )
    .each([
      ['upload users.csv --identity Ci', 'upload users.csv --identity City'],
      ['upload users.csv --only City,M', 'upload users.csv --only City,MSG-email'],
      ['upload users.csv --drop Sig', 'upload users.csv --drop Signed Up'],
      ['help errors E-CURS', 'help errors E-CURSOR'],
      ['help config rem', 'help config remove'],
      ['config use st', 'config use staging'],
      ['config use default st', 'config use default st'],
    ])('completes in an interactive zsh: %s', async (line, expected) => {
    const program =
      'engagectl() { [[ $1 == __complete ]] && { command engagectl "$@"; return }; print -r -- "words:$*"; }';
    const script = await scriptFor('zsh');
    const rc = `autoload -Uz compinit; compinit -u -d dump\nsource ${script}\n${program}\nPS1='> '\n`;
    writeFileSync(world.path('.zshrc'), rc);
    const shown = execFileSync('script', ['-qec', 'zsh -i', '/dev/null'], {
      input: `engagectl ${line}\t\nexit\n`,
      env: { ...surroundings(), ZDOTDIR: world.cwd },
      cwd: world.cwd,
      encoding: 'utf8',
    });
    expect(shown).toContain(`words:${expected}\r`);
  });
});

describe('PowerShell', () => {
  it('asks the program for each word', async () => {
    const { code, stdout } = await world.run(['completion', 'powershell']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Register-ArgumentCompleter -Native -CommandName engagectl -ScriptBlock \{$[^]*^ {2}engagectl __complete line '--' \$before "=\$word" @words /m,
      ),
    ]);
  });

  it('accepts a word without its quotes, and the backslashes of a path', async () => {
    writeFileSync(world.path(String.raw`.\my users.csv`), 'id,City\nu1,Oslo\n');
    const words = ['upload', String.raw`.\my users.csv`, '--identity'];
    expect((await askedBehind(3, 'C', words)).stdout).toBe('City\n');
  });

  it('answers in ASCII, which a console reads in any encoding', async () => {
    writeFileSync(world.path('users.csv'), 'Имя,𝒙,é\nu1,,\n');
    const { stdout } = await askedBehind(3, '', ['upload', 'users.csv', '--identity']);
    expect(stdout).toBe('\\u0418\\u043c\\u044f\n\\ud835\\udc99\n\\u00e9\n');
    expect(JSON.parse(`"${stdout.replaceAll('\n', ',')}"`)).toBe('Имя,𝒙,é,');
  });

  it.each([
    ['upload ', ''],
    ['upload us', ''],
    ['upload --rejects x', ''],
    ['upload --limit ', '\n'],
    ['upload --region nowhere', '\n'],
    ['completion tcsh', '\n'],
  ])(
    '%s: completes file names itself, and only where they are expected',
    async (line, expected) => {
      const words = line.split(' ');
      const last = words.pop();
      expect((await askedBehind(words.length, last, words)).stdout).toBe(expected);
    },
  );

  it.each([
    [1, '--ident', ['upload', 'users.csv'], '--identity\n'],
    [2, 'C', ['upload', '--identity', 'users.csv', '--region', 'local'], 'City\n'],
    [0, 'upl', ['users.csv'], 'upload\n'],
    [1, 'se', ['config', 'list'], 'set\n'],
  ])('completes word %j: %j of %j', async (before, word, others, expected) => {
    writeFileSync(world.path('users.csv'), 'id,City\nu1,Oslo\n');
    expect((await askedBehind(before, word, others)).stdout).toBe(expected);
  });

  it.each([
    ['exp', ['export-events', 'export-profiles']],
    ['config se', ['set']],
    ['--region eu1 --json config se', ['set']],
    ['upload --chunk-', ['--chunk-bytes', '--chunk-size']],
    ['upload --progress ', ['always', 'auto', 'never']],
    ['upload --progress=n', ['--progress=never']],
    ['--profile ', ['default', 'staging']],
    ['config use st', ['staging']],
    ['upload --region ', ['eu1', 'local', 'us1']],
    ['help exit', ['exit-codes']],
    ['help errors E-CUR', ['E-CURSOR']],
    ['completion p', ['powershell']],
    ['export-events --event ', []],
    ['upload --mapping ', []],
    ['nonsense --nonsense x', []],
    ['config use staging ', []],
    ['upload users.csv ', []],
    ['__comp', []],
  ])('%s offers %j', async (line, expected) => {
    expect(await completed(line)).toEqual(expected);
  });
});

/** What PowerShell asks at a word behind some of the others. */
const askedBehind = (before: number, word: string | undefined, others: readonly string[]) =>
  world.run(['__complete', 'line', '--', String(before), `=${word}`, ...others]);

/** What the program offers by itself at the end of a line. */
async function completed(line: string): Promise<string[]> {
  const words = line.split(' ');
  const last = words.pop();
  const { code, stdout, stderr } = await askedBehind(words.length, last, words);
  expect([code, stderr]).toEqual([0, '']);
  return lines(stdout);
}

describe('file names', () => {
  const places = ['upload us', 'upload --rejects us', 'get-profile --input us', 'call lint us'];

  it.skipIf(!hasCommand('fish', 'its completion is not tried')).each(places)(
    'fish completes them for %s',
    async (line) => {
      writeFileSync(world.path('users.csv'), '');
      expect(fish(await scriptFor('fish'))(`engagectl ${line}`)).toEqual(['users.csv']);
    },
  );

  it.skipIf(!hasCommand('script', 'no terminal to press Tab on')).each(places)(
    'bash completes them on a terminal for %s',
    async (line) => {
      writeFileSync(world.path('users.csv'), '');
      const rc = `source ${await scriptFor('bash')}\nengagectl() { printf 'words:%s\\n' "$*"; }\nPS1='> '\n`;
      writeFileSync(world.path('rc'), rc);
      const shown = execFileSync(
        'script',
        ['-qec', `bash --rcfile ${world.path('rc')} -i`, '/dev/null'],
        {
          input: `engagectl ${line}\t\nexit\n`,
          env: surroundings(),
          cwd: world.cwd,
          encoding: 'utf8',
        },
      );
      expect(shown).toContain(`words:${line}ers.csv`);
    },
  );
});

describe('__complete', () => {
  it('lists unfinished runs', async () => {
    mkdirSync(path.join(world.stateDir, 'runs', '20261121-044512-7kq2'), { recursive: true });
    const { stdout } = await world.run(['__complete', 'runs']);
    expect(stdout).toBe('20261121-044512-7kq2\n');
  });

  it.each(['profiles', 'regions', 'runs', 'nonsense'])(
    '%s: prints no message for a damaged configuration',
    async (kind) => {
      writeFileSync(path.join(world.configDir, 'config.json'), '{"profiles":{"$(reboot)":');
      expect(await world.run(['__complete', kind])).toEqual({ code: 0, stdout: '', stderr: '' });
    },
  );

  it('omits names that a shell would not accept unquoted', async () => {
    const profiles = { 'a b': { regions: { '$(id)': {} } }, good: { regions: {} } };
    writeFileSync(path.join(world.configDir, 'config.json'), JSON.stringify({ profiles }));
    expect((await world.run(['__complete', 'profiles'])).stdout).toBe('good\n');
    expect((await world.run(['__complete', 'regions'])).stdout).toBe('local\n');
  });
});

describe('D malicious names', () => {
  // Whoever writes the input, the config file or the state directory chooses these.
  const hostile = [
    '$(touch hit)',
    '`touch hit`',
    ';touch hit;',
    '$PWD',
    'Pri$ce',
    'X$(touch hit)',
    '-$IFS',
  ];

  beforeEach(() => {
    writeFileSync(world.path('users.csv'), `id,${hostile.join(',')}\nu1\n`);
    const profiles = Object.fromEntries(hostile.map((name) => [name, { regions: { [name]: {} } }]));
    chmodSync(world.configDir, 0o700);
    writeFileSync(path.join(world.configDir, 'config.json'), JSON.stringify({ profiles }));
    for (const name of hostile)
      mkdirSync(path.join(world.stateDir, 'runs', name), { recursive: true });
  });

  const canTry = hasCommand('script', 'completion is not tried at a terminal');
  const start: Readonly<Record<string, (script: string) => string>> = {
    bash: (script) => {
      const rc = `source ${script}\nbind 'set enable-bracketed-paste off'\nPS1='> '\n`;
      writeFileSync(world.path('.bashrc'), rc);
      return 'bash --rcfile .bashrc -i';
    },
    zsh: (script) => {
      writeFileSync(
        world.path('.zshrc'),
        `autoload -Uz compinit; compinit -u -d dump\nsource ${script}\nPS1='> '\n`,
      );
      return 'zsh -i';
    },
    fish: (script) => `fish --no-config --init-command 'source ${script}' -i`,
  };

  describe.each(['bash', 'zsh', 'fish'])('in an interactive %s', (shell) => {
    const canRun = canTry && hasCommand(shell, 'its completion of hostile names is not tried');

    it.skipIf(!canRun).each([
      ['upload users.csv --identity ', []],
      ['upload users.csv --identity X', []],
      ['upload users.csv --identity Pri', ['Pri$ce']],
      ['upload users.csv --only id,Pri', ['id,Pri$ce']],
      ['config use ', []],
      ['upload --region ', []],
      ['runs show ', []],
    ])('%j: no part of a name is run or expanded', { timeout: 60_000 }, async (line, last) => {
      const program = start[shell]!(await scriptFor(shell));
      const env = { ...surroundings(), ZDOTDIR: world.cwd };
      // What the shell makes of the completed line, but for __complete, which the program answers.
      const recorder = `#!/bin/sh\n[ "$1" = __complete ] && exec "${process.execPath}" "${binPath}" "$@"\nprintf '%s\\n' "$@" >received\n`;
      writeFileSync(world.path('bin/engagectl'), recorder);
      spawnSync('script', ['-qec', program, '/dev/null'], {
        input: `engagectl ${line}${last.length > 0 ? '\t' : '\t\t\t'}\n\nexit\n`,
        env,
        cwd: world.cwd,
        timeout: 30_000,
      });
      expect(existsSync(world.path('hit'))).toBe(false);
      if (last.length > 0) {
        const received = readFileSync(world.path('received'), 'utf8').trimEnd().split('\n');
        expect(received.slice(-last.length)).toEqual(last);
      }
    });
  });
});
